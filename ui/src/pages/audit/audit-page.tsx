import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { plural } from '../../model/units.ts';
import { text } from '../../model/url.ts';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { Filters } from '../../widgets/filters.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import css from './audit.module.css';

type Entry = components['schemas']['AuditEntry'];

const grammar = { operation: text(), subject: text() } as const;
const PAGE_ROWS = 200;

const columns: readonly Column<Entry>[] = [
  { id: 'at', head: 'Time', isPinned: true, cell: ({ at }) => <Instant at={at} /> },
  { id: 'operation', head: 'Operation', cell: ({ operation }) => operation },
  {
    id: 'outcome',
    head: 'Outcome',
    cell: ({ outcome }) =>
      outcome === 'refused' ? <span className={css['refused']}>✕ refused</span> : <span>✓ allowed</span>,
  },
  { id: 'project', head: 'Project', cell: ({ project }) => project },
  { id: 'resource', head: 'Resource', cell: ({ resource }) => resource },
  { id: 'subject', head: 'Subject', cell: ({ subject }) => subject ?? '—' },
  { id: 'key', head: 'Key', cell: ({ key_fingerprint: key }) => (key === undefined ? 'none' : <code>{key}</code>) },
  { id: 'address', head: 'From', cell: ({ remote_address: address }) => address },
];

const Field = ({
  name,
  value,
  onSet,
}: {
  readonly name: string;
  readonly value: string | undefined;
  readonly onSet: (value: string | undefined) => void;
}) => (
  <form
    className={css['field']}
    onSubmit={(event) => {
      event.preventDefault();
      const given = new FormData(event.currentTarget).get(name);
      onSet(typeof given === 'string' && given.trim() !== '' ? given.trim() : undefined);
    }}
  >
    <label>
      {name} <input key={value ?? ''} name={name} defaultValue={value ?? ''} />
    </label>
  </form>
);

export default function AuditPage() {
  const [{ project, from, to }] = useShared();
  const [state, setState] = usePageState(grammar);
  const query = {
    ...(project === undefined ? {} : { project }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(state.operation === undefined ? {} : { operation: state.operation }),
    ...(state.subject === undefined ? {} : { subject: state.subject }),
    limit: PAGE_ROWS,
  };
  const entries = usePaged<Entry>(['audit', query], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/audit', {
        params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    );
    return { rows: page.entries, next: page.next_cursor };
  });
  const active = (['operation', 'subject'] as const).flatMap((name) => {
    const value = state[name];
    return value === undefined ? [] : [{ name, value, onRemove: () => setState({ [name]: undefined }, 'push') }];
  });
  return (
    <>
      <PageHead title="Audit" />
      <Filters active={active}>
        <Field name="operation" value={state.operation} onSet={(operation) => setState({ operation }, 'push')} />
        <Field name="subject" value={state.subject} onSet={(subject) => setState({ subject }, 'push')} />
      </Filters>
      <Loaded query={entries} what="the audit log">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No entries">
              <p>{active.length === 0 ? 'Nothing was read in this time.' : 'None is what the filters ask for.'}</p>
            </EmptyState>
          ) : (
            <DataTable
              name="Audit"
              columns={columns}
              rows={rows}
              idOf={({ audit_id }) => audit_id}
              onEnd={entries.more}
              foot={`${plural(rows.length, 'entry', 'entries')} shown${entries.hasMore ? '; scroll for more' : ''}`}
            />
          )
        }
      </Loaded>
    </>
  );
}
