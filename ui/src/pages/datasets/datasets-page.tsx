import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { formatCount, plural, UNKNOWN } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { Dialog, dialogCss } from '../../widgets/dialog.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { useShared } from '../../widgets/page-state.ts';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { EmptyState, Loaded, ProblemNotice } from '../../widgets/states.tsx';
import { useListQuery } from '../people/use-list-query.ts';

type Dataset = components['schemas']['Dataset'];

const columns: readonly Column<Dataset>[] = [
  {
    id: 'name',
    head: 'Name',
    isPinned: true,
    cell: ({ dataset_id, name, project }) => (
      <PageLink to={`/datasets/${encodeURIComponent(dataset_id)}`} params={{ project }}>
        {name}
      </PageLink>
    ),
  },
  { id: 'project', head: 'Project', cell: ({ project }) => project },
  { id: 'cases', head: 'Cases', isNumber: true, cell: ({ item_count }) => formatCount(item_count) },
  {
    id: 'description',
    head: 'Description',
    cell: ({ description }) => <span title={description}>{description ?? UNKNOWN}</span>,
  },
  { id: 'created', head: 'Created', cell: ({ created_at }) => <Instant at={created_at} /> },
];

const textOf = (form: FormData, name: string): string => {
  const given = form.get(name);
  return typeof given === 'string' ? given.trim() : '';
};

const NewDataset = ({ onClose }: { readonly onClose: () => void }) => {
  const client = useQueryClient();
  const [{ project }] = useShared();
  const create = useMutation({
    mutationFn: (form: FormData) =>
      ask(
        api.POST('/v1/api/datasets', {
          body: {
            name: textOf(form, 'name'),
            ...(textOf(form, 'description') === '' ? {} : { description: textOf(form, 'description') }),
            ...(project === undefined || project === '*' ? {} : { project }),
          },
        }),
      ),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['datasets'] });
      onClose();
    },
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    create.mutate(new FormData(event.currentTarget));
  };
  return (
    <Dialog title="New dataset" isOpen onClose={onClose}>
      <form onSubmit={submit} autoComplete="off" style={{ display: 'contents' }}>
        <label className={dialogCss['field']}>
          Name
          <input name="name" required spellCheck={false} />
        </label>
        <label className={dialogCss['field']}>
          Description
          <input name="description" />
        </label>
        {create.error !== null && <ProblemNotice error={create.error} />}
        <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" look="primary" disabled={create.isPending}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

export default function DatasetsPage() {
  const query = useListQuery();
  const may = useMay('write');
  const [isMaking, setMaking] = useState(false);
  const datasets = usePaged<Dataset>(['datasets', query], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/datasets', {
        params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    );
    return { rows: page.datasets, next: page.next_cursor };
  });
  return (
    <>
      <PageHead
        title="Datasets"
        actions={
          <>
            <NeedsScope scope="write" may={may} />
            <Button disabled={may !== true} onClick={() => setMaking(true)}>
              New dataset
            </Button>
          </>
        }
      />
      <Loaded query={datasets} what="datasets">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No datasets">
              <p>A dataset holds cases: inputs, and what the answer should be. Runs are captured as cases.</p>
            </EmptyState>
          ) : (
            <DataTable
              name="Datasets"
              columns={columns}
              rows={rows}
              idOf={({ project, dataset_id }) => `${project} ${dataset_id}`}
              onEnd={datasets.more}
              foot={`${plural(rows.length, 'dataset')} shown${datasets.hasMore ? '; scroll for more' : ''}`}
            />
          )
        }
      </Loaded>
      {isMaking && <NewDataset onClose={() => setMaking(false)} />}
    </>
  );
}
