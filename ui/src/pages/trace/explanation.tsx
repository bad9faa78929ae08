import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { Facts } from '../../widgets/facts.tsx';
import type { Column } from '../../widgets/data-table.tsx';
import { PlainTable } from '../../widgets/plain-table.tsx';
import { Loaded } from '../../widgets/states.tsx';
import css from './trace.module.css';

type Explained = components['schemas']['SpanExplanation'];

const RULES: Readonly<Record<Explained['redactions'][number]['rule'], string>> = {
  built_in_key: 'its key is one of the built-in names of secrets',
  configured_key: 'its key is one of the configured names',
  in_text: 'a key inside the text names a secret',
  repeated: 'it repeats what was redacted elsewhere, or was sent so',
  hashed: 'an identifier that is hashed under the present settings',
};

const columns: readonly Column<Explained['fields'][number]>[] = [
  { id: 'field', head: 'Field', cell: ({ field }) => <code>{field}</code> },
  { id: 'attribute', head: 'Set by', cell: ({ attribute }) => <code>{attribute}</code> },
  { id: 'emitter', head: 'Convention', cell: ({ emitter }) => emitter },
  { id: 'instead', head: 'Instead of', cell: ({ instead_of }) => instead_of.join(', ') || '—' },
];

const Redactions = ({ redactions }: Pick<Explained, 'redactions'>) => (
  <ul className={css['entries']}>
    {redactions.map(({ path, rule }) => (
      <li key={`${path} ${rule}`}>
        <code>{path}</code>: {RULES[rule]}
      </li>
    ))}
  </ul>
);

/** Which attribute set which field of a span, what was redacted, and what no row of the mapping reads. */
export const Explanation = ({ traceId, spanId }: { readonly traceId: string; readonly spanId: string }) => {
  const query = useQuery({
    queryKey: ['span', traceId, spanId, 'explanation'],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/traces/{trace_id}/spans/{span_id}/explanation', {
          params: { path: { trace_id: traceId, span_id: spanId } },
          signal,
        }),
      ),
    staleTime: 30_000,
  });
  return (
    <Loaded query={query} what="the mapping">
      {({ fields, unexplained, unmapped, redactions, complete }) => (
        <>
          {fields.length === 0 ? (
            <p>No attribute set a field of this span.</p>
          ) : (
            <PlainTable name="Mapping" columns={columns} rows={fields} idOf={({ field }) => field} />
          )}
          <Facts
            facts={[
              [
                'Redacted',
                redactions.length === 0 ? 'nothing' : <Redactions key="redactions" redactions={redactions} />,
              ],
              ['Not from an attribute', unexplained.join(', ') || 'nothing'],
              ['Kept, read by no row', unmapped.join(', ') || 'nothing'],
            ]}
          />
          {!complete && <p>There is more than is listed here.</p>}
        </>
      )}
    </Loaded>
  );
};
