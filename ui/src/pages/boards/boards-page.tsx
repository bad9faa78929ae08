import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useMemo, useState } from 'react';
import { api, ask } from '../../api/client.ts';
import { MOST_CHARTS } from '../../model/saved-view.ts';
import { plural } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import type { Column } from '../../widgets/data-table.tsx';
import { Dialog, dialogCss } from '../../widgets/dialog.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { PlainTable } from '../../widgets/plain-table.tsx';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { EmptyState, Loaded, ProblemNotice } from '../../widgets/states.tsx';
import css from './boards.module.css';
import { isBoard, type SavedView, useViews } from './read.ts';
import { SavedLink } from './saved-link.tsx';

/** Names a board and chooses its views. */
const BoardForm = ({ views, onClose }: { readonly views: readonly SavedView[]; readonly onClose: () => void }) => {
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<readonly SavedView[]>([]);
  const client = useQueryClient();
  const [first] = chosen;
  const save = useMutation({
    mutationFn: () =>
      ask(
        api.POST('/v1/api/views', {
          body: {
            name: name.trim(),
            views: chosen.map(({ view_id }) => view_id),
            ...(first === undefined ? {} : { project: first.project }),
          },
        }),
      ),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['views'] });
      onClose();
    },
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (name.trim() !== '' && chosen.length > 0) save.mutate();
  };
  return (
    <form onSubmit={submit} autoComplete="off" style={{ display: 'contents' }}>
      <label className={dialogCss['field']}>
        Name of the board
        <input name="name" value={name} maxLength={100} onChange={({ target }) => setName(target.value)} />
      </label>
      <fieldset className={css['choices']}>
        <legend>Its views, {MOST_CHARTS} at the most</legend>
        {views.map((view) => {
          const isChosen = chosen.includes(view);
          return (
            <label key={`${view.project} ${view.view_id}`}>
              <input
                type="checkbox"
                checked={isChosen}
                // A board is of one project, as its views are.
                disabled={
                  !isChosen && (chosen.length >= MOST_CHARTS || (first !== undefined && first.project !== view.project))
                }
                onChange={() => setChosen(isChosen ? chosen.filter((one) => one !== view) : [...chosen, view])}
              />{' '}
              {view.name}
            </label>
          );
        })}
      </fieldset>
      {save.error !== null && <ProblemNotice error={save.error} />}
      <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
        <Button onClick={onClose}>Close</Button>
        <Button type="submit" look="primary" disabled={name.trim() === '' || chosen.length === 0 || save.isPending}>
          Make the board
        </Button>
      </div>
    </form>
  );
};

const Delete = ({ view, onClose }: { readonly view: SavedView; readonly onClose: () => void }) => {
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () =>
      ask(
        api.DELETE('/v1/api/views/{view_id}', {
          params: { path: { view_id: view.view_id }, query: { project: view.project } },
        }),
      ),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['views'] });
      onClose();
    },
  });
  return (
    <>
      <p>It goes for all who read the project. What it shows stays.</p>
      {remove.error !== null && <ProblemNotice error={remove.error} />}
      <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
        <Button onClick={onClose}>Keep it</Button>
        <Button look="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
          Delete
        </Button>
      </div>
    </>
  );
};

const idOf = ({ project, view_id }: SavedView): string => `${project} ${view_id}`;

const made: Column<SavedView> = { id: 'made', head: 'Saved', cell: ({ created_at }) => <Instant at={created_at} /> };

const boardColumns: readonly Column<SavedView>[] = [
  {
    id: 'name',
    head: 'Board',
    cell: ({ name, view_id, project }) => (
      <PageLink to={`/boards/${encodeURIComponent(view_id)}`} params={{ project }}>
        {name}
      </PageLink>
    ),
  },
  { id: 'charts', head: 'Views', cell: ({ views }) => plural(views?.length ?? 0, 'view') },
  made,
];

const viewColumns: readonly Column<SavedView>[] = [
  { id: 'name', head: 'View', cell: (view) => <SavedLink view={view} /> },
  { id: 'path', head: 'Address', cell: ({ path }) => <code className={css['path']}>{path}</code> },
  made,
];

const removeColumn = (may: boolean | undefined, onDelete: (view: SavedView) => void): Column<SavedView> => ({
  id: 'delete',
  head: 'Delete',
  cell: (view) => (
    <Button look="plain" aria-label={`Delete ${view.name}`} disabled={may === false} onClick={() => onDelete(view)}>
      Delete
    </Button>
  ),
});

export default function BoardsPage() {
  const query = useViews();
  const may = useMay('write');
  const [making, setMaking] = useState(false);
  const [deleting, setDeleting] = useState<SavedView | undefined>();
  const all = query.data ?? [];
  const views = all.filter((view) => !isBoard(view));
  const boards = all.filter(isBoard);
  const remove = useMemo(() => removeColumn(may, setDeleting), [may]);
  return (
    <>
      <PageHead
        title="Boards"
        actions={
          <>
            <NeedsScope scope="write" may={may} />
            <Button disabled={views.length === 0 || may === false} onClick={() => setMaking(true)}>
              New board…
            </Button>
          </>
        }
      />
      <Loaded query={query} what="saved views">
        {(found) =>
          found.length === 0 ? (
            <EmptyState title="No view is saved">
              <p>
                “Save view” in the bar on top keeps a page as it stands under a name. Boards are made of such views.
              </p>
            </EmptyState>
          ) : (
            <div className={css['page']}>
              {boards.length > 0 && (
                <>
                  <h2>Boards</h2>
                  <PlainTable name="Boards" rows={boards} idOf={idOf} columns={[...boardColumns, remove]} />
                </>
              )}
              <h2>Views</h2>
              <PlainTable name="Views" rows={views} idOf={idOf} columns={[...viewColumns, remove]} />
            </div>
          )
        }
      </Loaded>
      <Dialog title="New board" isOpen={making} onClose={() => setMaking(false)}>
        <BoardForm key={String(making)} views={views} onClose={() => setMaking(false)} />
      </Dialog>
      <Dialog
        title={`Delete ${deleting?.name ?? ''}`}
        isOpen={deleting !== undefined}
        onClose={() => setDeleting(undefined)}
      >
        {deleting !== undefined && <Delete view={deleting} onClose={() => setDeleting(undefined)} />}
      </Dialog>
    </>
  );
}
