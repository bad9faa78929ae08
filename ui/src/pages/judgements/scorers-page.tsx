import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { configOf, formatScore, idsIn, nameOfScorer, type Score } from '../../model/scores.ts';
import { plural, shortId, UNKNOWN } from '../../model/units.ts';
import { list } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import type { Column } from '../../widgets/data-table.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { PlainTable } from '../../widgets/plain-table.tsx';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { Loaded, ProblemNotice } from '../../widgets/states.tsx';
import css from './judgements.module.css';

type Scorer = components['schemas']['Scorer'];
type Report = components['schemas']['ScoreReport'];
type Skipped = Report['skipped'][number];

/** The traces that are to be scored, chosen in their list. */
const grammar = { trace_ids: list() } as const;

const DEFAULT_RUNS = 20;
/** Results beyond that are counted, not drawn. */
const MOST_ROWS = 200;

const traceLink = (traceId: string | undefined) =>
  traceId === undefined ? (
    UNKNOWN
  ) : (
    <PageLink to={`/traces/${traceId}`}>
      <code>{shortId(traceId)}</code>
    </PageLink>
  );

const scoreColumns: readonly Column<Score>[] = [
  { id: 'scorer', head: 'Scorer', cell: (score) => nameOfScorer(score.scorer_id, score.scorer_version) },
  { id: 'value', head: 'Value', isNumber: true, cell: formatScore },
  { id: 'reason', head: 'Reason', cell: ({ reason }) => <span title={reason}>{reason ?? UNKNOWN}</span> },
  { id: 'trace', head: 'Trace', cell: ({ trace_id }) => traceLink(trace_id) },
];
const skippedColumns: readonly Column<Skipped>[] = [
  { id: 'scorer', head: 'Scorer', cell: ({ scorer_id }) => scorer_id },
  { id: 'reason', head: 'Why', cell: ({ reason }) => <span title={reason}>{reason}</span> },
  { id: 'trace', head: 'Trace', cell: ({ trace_id }) => traceLink(trace_id) },
];

const Outcome = ({ report, isDry }: { readonly report: Report; readonly isDry: boolean }) => (
  <section aria-label="Outcome" className={css['page']}>
    <p role="status">
      {plural(report.scores.length, 'score')}, {isDry ? 'none stored: a dry run' : `${report.scores_written} stored`};{' '}
      {report.skipped.length} skipped.
      {report.cut_short === true && ' The time of the request ended before all runs were looked for.'}
      {Math.max(report.scores.length, report.skipped.length) > MOST_ROWS &&
        ` The first ${MOST_ROWS} of each are shown.`}
    </p>
    {report.scores.length > 0 && (
      <PlainTable
        name="Given scores"
        columns={scoreColumns}
        rows={report.scores.slice(0, MOST_ROWS)}
        idOf={({ score_id }) => score_id}
      />
    )}
    {report.skipped.length > 0 && (
      <PlainTable
        name="Skipped"
        columns={skippedColumns}
        rows={report.skipped.slice(0, MOST_ROWS)}
        idOf={({ trace_id, scorer_id }) => `${trace_id} ${scorer_id}`}
      />
    )}
  </section>
);

/** Descriptions mark names as Markdown does. */
const plain = (text: string): string => text.replaceAll('`', '');

const textOf = (form: FormData, name: string): string => {
  const given = form.get(name);
  return typeof given === 'string' ? given : '';
};

const Runner = ({ scorers }: { readonly scorers: readonly Scorer[] }) => {
  const client = useQueryClient();
  const [{ project, from }] = useShared();
  const [{ trace_ids: named }] = usePageState(grammar);
  const may = useMay('write');
  const [chosen, setChosen] = useState<readonly string[]>(['answered', 'no_errors']);
  const keys = [
    ...new Set(scorers.filter(({ scorer_id }) => chosen.includes(scorer_id)).flatMap(({ config }) => config)),
  ];
  const run = useMutation({
    mutationFn: async ({ form, isDry }: { readonly form: FormData; readonly isDry: boolean }) => {
      const ids = idsIn(textOf(form, 'trace_ids'));
      const limit = Number(textOf(form, 'limit')) || DEFAULT_RUNS;
      const judged = idsIn(textOf(form, 'judged'));
      const report = await ask(
        api.POST('/v1/api/score', {
          body: {
            scorers: [...chosen, ...judged],
            dry_run: isDry,
            config: configOf(Object.fromEntries(keys.map((key) => [key, textOf(form, `config.${key}`)]))),
            ...(project === undefined || project === '*' ? {} : { project }),
            ...(ids.length > 0 ? { trace_ids: [...ids] } : { limit, ...(from === undefined ? {} : { from }) }),
          },
        }),
      );
      return { report, isDry };
    },
    onSuccess: ({ isDry }) => (isDry ? undefined : client.invalidateQueries({ queryKey: ['scores'] })),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const isDry = event.submitter?.getAttribute('value') !== 'store';
    run.mutate({ form: new FormData(event.currentTarget), isDry });
  };
  const toggle = (id: string): void =>
    setChosen((before) => (before.includes(id) ? before.filter((one) => one !== id) : [...before, id]));
  return (
    <>
      <form className={css['form']} onSubmit={submit} aria-label="Run scorers" autoComplete="off">
        <fieldset className={css['checks']}>
          <legend>Scorers</legend>
          {scorers.map((scorer) => (
            <label key={scorer.scorer_id}>
              <input
                type="checkbox"
                checked={chosen.includes(scorer.scorer_id)}
                onChange={() => toggle(scorer.scorer_id)}
              />
              <span>
                {nameOfScorer(scorer.scorer_id, scorer.scorer_version)}
                <small>
                  1 when {plain(scorer.description)}
                  {scorer.declines === undefined ? '' : `; none where ${plain(scorer.declines)}`}
                </small>
              </span>
            </label>
          ))}
        </fieldset>
        <div className={css['fields']}>
          <label>
            Judged criteria of the config file
            <input name="judged" placeholder="none" spellCheck={false} />
          </label>
          {keys.map((key) => (
            <label key={key}>
              {key}
              {key === 'case_sensitive' ? (
                <select name={`config.${key}`} defaultValue="">
                  <option value="">no</option>
                  <option value="true">yes</option>
                </select>
              ) : (
                <input
                  name={`config.${key}`}
                  spellCheck={false}
                  {...(key.startsWith('max_') ? { type: 'number', min: 0, step: 'any' } : {})}
                />
              )}
            </label>
          ))}
          <label>
            The newest so many runs
            <input name="limit" type="number" min={1} max={10_000} defaultValue={DEFAULT_RUNS} />
          </label>
        </div>
        <label className={css['tall']}>
          Or exactly these traces
          <textarea
            name="trace_ids"
            rows={2}
            spellCheck={false}
            placeholder="trace ids, one a line"
            defaultValue={named?.join('\n')}
          />
        </label>
        <div className={css['row']}>
          <Button type="submit" value="dry" look="primary" disabled={may !== true || run.isPending}>
            Dry run
          </Button>
          <Button type="submit" value="store" disabled={may !== true || run.isPending || run.data?.isDry !== true}>
            Run and store
          </Button>
          <NeedsScope scope="write" may={may} />
          <span className={css['note']}>A dry run stores nothing; after it the scores can be stored.</span>
        </div>
        {run.error !== null && <ProblemNotice error={run.error} />}
      </form>
      {run.data !== undefined && <Outcome {...run.data} />}
    </>
  );
};

export default function ScorersPage() {
  const query = useQuery({
    queryKey: ['scorers'],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/scorers', { signal })),
    staleTime: 600_000,
  });
  return (
    <>
      <PageHead title="Scorers" actions={<PageLink to="/scores">Scores</PageLink>} />
      <div className={css['page']}>
        <Loaded query={query} what="scorers">
          {({ scorers }) => <Runner scorers={scorers} />}
        </Loaded>
      </div>
    </>
  );
}
