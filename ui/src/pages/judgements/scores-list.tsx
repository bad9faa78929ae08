import { api, ask } from '../../api/client.ts';
import { formatScore, judgeOf, nameOfScorer, type Score } from '../../model/scores.ts';
import { plural, shortId, UNKNOWN } from '../../model/units.ts';
import { number, oneOf, text } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { Histograms } from './histograms.tsx';
import css from './judgements.module.css';

const PAGE_ROWS = 200;
const sources = ['live', 'offline', 'experiment', 'manual'] as const;
const grammar = {
  scorer_id: text(),
  source: oneOf(sources),
  experiment_id: text(),
  min_value: number(),
  max_value: number(),
} as const;
const names = Object.keys(grammar) as (keyof typeof grammar)[];

const columns: readonly Column<Score>[] = [
  {
    id: 'scorer',
    head: 'Scorer',
    isPinned: true,
    cell: ({ scorer_id, scorer_version }) => nameOfScorer(scorer_id, scorer_version),
  },
  { id: 'value', head: 'Value', isNumber: true, cell: formatScore },
  { id: 'label', head: 'Label', cell: ({ label }) => label ?? UNKNOWN },
  { id: 'reason', head: 'Reason', cell: ({ reason }) => <span title={reason}>{reason ?? UNKNOWN}</span> },
  { id: 'judge', head: 'Judge', cell: (score) => judgeOf(score) ?? UNKNOWN },
  { id: 'source', head: 'Source', cell: ({ source }) => source },
  {
    id: 'experiment',
    head: 'Experiment',
    cell: ({ experiment_id }) =>
      experiment_id === undefined ? (
        UNKNOWN
      ) : (
        <PageLink to={`/experiments/${encodeURIComponent(experiment_id)}`}>{experiment_id}</PageLink>
      ),
  },
  {
    id: 'trace',
    head: 'Trace',
    cell: ({ trace_id, span_id }) =>
      trace_id === undefined ? (
        UNKNOWN
      ) : (
        <PageLink to={`/traces/${trace_id}`} {...(span_id === undefined ? {} : { params: { span: span_id } })}>
          <code>{shortId(trace_id)}</code>
        </PageLink>
      ),
  },
  { id: 'time', head: 'Time', cell: ({ timestamp }) => <Instant at={timestamp} /> },
];

/** Numbers that scorers gave. Feedback of people is another list. */
export const ScoresList = () => {
  const [{ project, from, to }] = useShared();
  const [state, setState] = usePageState(grammar);
  const query = {
    ...state,
    limit: PAGE_ROWS,
    ...(project === undefined ? {} : { project }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  const scores = usePaged<Score>(['scores', query], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/scores', {
        params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } as never },
        signal,
      }),
    );
    return { rows: page.scores, next: page.next_cursor };
  });
  const active = names.filter((name) => state[name] !== undefined);
  return (
    <>
      <div role="group" aria-label="Filters" className={css['filters']}>
        <label>
          Scorer
          <input
            key={state.scorer_id ?? ''}
            defaultValue={state.scorer_id ?? ''}
            size={14}
            onBlur={({ target }) => setState({ scorer_id: target.value.trim() || undefined }, 'push')}
            onKeyDown={({ key, currentTarget }) => {
              if (key === 'Enter') setState({ scorer_id: currentTarget.value.trim() || undefined }, 'push');
            }}
          />
        </label>
        <label>
          Source
          <select
            value={state.source ?? ''}
            onChange={({ target }) => setState({ source: grammar.source.parse(target.value) }, 'push')}
          >
            <option value="">any</option>
            {sources.map((source) => (
              <option key={source} value={source}>
                {source}
              </option>
            ))}
          </select>
        </label>
        {active.map((name) => (
          <Button
            key={name}
            aria-label={`Remove filter ${name}`}
            onClick={() => setState({ [name]: undefined }, 'push')}
          >
            {name} {String(state[name])} ×
          </Button>
        ))}
      </div>
      <Loaded query={scores} what="scores">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No scores">
              {active.length > 0 && (
                <Button onClick={() => setState(Object.fromEntries(names.map((name) => [name, undefined])), 'push')}>
                  Remove the filters: {active.join(', ')}
                </Button>
              )}
              <p>
                <PageLink to="/scorers">Run scorers</PageLink> over what has arrived.
              </p>
            </EmptyState>
          ) : (
            <>
              <p className={`${css['note']} ${css['padded']}`}>
                How the {plural(rows.length, 'score')} read so far lie{scores.hasMore ? '; there are more' : ''}. Only
                equal versions of a scorer compare.
              </p>
              <Histograms scores={rows} />
              <DataTable
                name="Scores"
                columns={columns}
                rows={rows}
                idOf={({ score_id }) => score_id}
                onEnd={scores.more}
                foot={`${plural(rows.length, 'score')} shown${scores.hasMore ? '; scroll for more' : ''}`}
              />
            </>
          )
        }
      </Loaded>
    </>
  );
};
