import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { formatCount, plural } from '../../model/units.ts';
import { number, oneOf, text } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { usePageState } from '../../widgets/page-state.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { Editor } from './editor.tsx';

type Definition = components['schemas']['DefinitionSummary'];

const PAGE_ROWS = 100;

/** `id` and `v` are what the editor begins with. */
const grammar = { view: oneOf(['list', 'editor'], 'list'), id: text(), v: number() } as const;

const columns: readonly Column<Definition>[] = [
  {
    id: 'id',
    head: 'Definition',
    isPinned: true,
    cell: ({ id, project }) => (
      <PageLink to={`/definitions/${id}`} params={project === undefined ? {} : { project }}>
        {id}
      </PageLink>
    ),
  },
  { id: 'version', head: 'Latest version', isNumber: true, cell: ({ version }) => formatCount(version) },
  { id: 'project', head: 'Of', cell: ({ project }) => project ?? 'the service' },
  { id: 'created_at', head: 'Stored', cell: ({ created_at }) => <Instant at={created_at} /> },
];

const List = ({ onEdit }: { readonly onEdit: () => void }) => {
  const definitions = usePaged<Definition>(['definitions', 'list'], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/definitions', {
        params: { query: { limit: PAGE_ROWS, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    );
    return { rows: page.definitions, next: page.next_cursor };
  });
  return (
    <>
      <PageHead title="Definitions" actions={<Button onClick={onEdit}>New definition</Button>} />
      <Loaded query={definitions} what="definitions">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No definitions">
              <p>
                A definition says which steps a run takes. A worker stores its own when it registers, or write one here.
              </p>
            </EmptyState>
          ) : (
            <DataTable
              name="Definitions"
              columns={columns}
              rows={rows}
              idOf={({ id, project }) => `${project ?? ''} ${id}`}
              onEnd={definitions.more}
              foot={`${plural(rows.length, 'definition')} shown${definitions.hasMore ? '; scroll for more' : ''}`}
            />
          )
        }
      </Loaded>
    </>
  );
};

export default function DefinitionsPage() {
  const [{ view, id, v }, setState] = usePageState(grammar);
  return view === 'editor' ? (
    <Editor key={`${id ?? ''}@${v ?? ''}`} id={id} version={v} />
  ) : (
    <List onEdit={() => setState({ view: 'editor' }, 'push')} />
  );
}
