import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask } from '../../api/client.ts';
import { formatDelta, pairCases, type Ran } from '../../model/compare.ts';
import { previewOf } from '../../model/payload.ts';
import { plural, shortId, UNKNOWN } from '../../model/units.ts';
import { formatNumber } from '../../model/watch.ts';
import { Button } from '../../widgets/button.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { WordDiff } from '../../widgets/word-diff.tsx';
import css from './experiments.module.css';

/** Each trace of a case is a read of its own: so many of each side, and only when asked for. */
const MOST_CASES = 50;
const AT_ONCE = 6;

type Score = {
  readonly trace_id?: string;
  readonly scorer_id: string;
  readonly scorer_version?: string;
  readonly value: number;
  readonly reason?: string;
};

const readCase = async (score: Score, signal: AbortSignal): Promise<readonly Ran[]> => {
  if (score.trace_id === undefined) return [];
  const path = { trace_id: score.trace_id };
  const { spans } = await ask(
    api.GET('/v1/api/traces/{trace_id}', { params: { path, query: { payloads: 'none' } }, signal }),
  );
  const root = spans.find(({ parent_span_id }) => parent_span_id === undefined) ?? spans[0];
  if (root === undefined) return [];
  const { span } = await ask(
    api.GET('/v1/api/traces/{trace_id}/spans/{span_id}', {
      params: { path: { ...path, span_id: root.span_id } },
      signal,
    }),
  );
  return [
    { traceId: score.trace_id, input: span.input, output: span.output, value: score.value, reason: score.reason },
  ];
};

/** The runs of one side that the scorer judged, in its version, a few reads at a time. */
const readSide = async (
  experiment_id: string,
  scorer: Scorer,
  project: string | undefined,
  signal: AbortSignal,
): Promise<readonly Ran[]> => {
  const { scores } = await ask(
    api.GET('/v1/api/scores', {
      params: {
        query: {
          experiment_id,
          scorer_id: scorer.scorer_id,
          limit: 1000,
          ...(project === undefined ? {} : { project }),
        },
      },
      signal,
    }),
  );
  const wanted = scores
    .filter(({ scorer_version }) => scorer_version === scorer.scorer_version)
    .toReversed()
    .slice(0, MOST_CASES);
  const read: Ran[] = [];
  for (let at = 0; at < wanted.length; at += AT_ONCE) {
    const found = await Promise.all(wanted.slice(at, at + AT_ONCE).map((score) => readCase(score, signal)));
    read.push(...found.flat());
  }
  return read;
};

const Side = ({ name, ran }: { readonly name: string; readonly ran: Ran }) => (
  <div className={css['side']}>
    <b>{name}</b> {formatNumber(ran.value)}{' '}
    <PageLink to={`/traces/${ran.traceId}`} label={`Trace of the ${name.toLowerCase()}`}>
      trace <code>{shortId(ran.traceId)}</code>
    </PageLink>
    <p className={css['note']}>{ran.reason ?? 'No reason was given.'}</p>
  </div>
);

type Scorer = { readonly scorer_id: string; readonly scorer_version?: string };

/** Both answers to each input, side by side. Deltas of single cases have no colour: one case decides nothing. */
export const Cases = ({
  baseline,
  candidate,
  scorer,
  project,
}: {
  readonly baseline: string;
  readonly candidate: string;
  readonly scorer: Scorer;
  readonly project: string | undefined;
}) => {
  const [isWanted, setWanted] = useState(false);
  const query = useQuery({
    queryKey: ['experiments', 'cases', baseline, candidate, scorer.scorer_id, scorer.scorer_version ?? '', project],
    queryFn: async ({ signal }) => {
      const before = await readSide(baseline, scorer, project, signal);
      return pairCases(before, await readSide(candidate, scorer, project, signal));
    },
    enabled: isWanted,
  });
  if (!isWanted)
    return (
      <p>
        <Button onClick={() => setWanted(true)}>Read the cases</Button>{' '}
        <span className={css['note']}>It reads up to {MOST_CASES} traces of each side.</span>
      </p>
    );
  return (
    <Loaded query={query} what="the cases">
      {({ pairs, alone }) =>
        pairs.length === 0 ? (
          <EmptyState title="No case has the same input on both sides" />
        ) : (
          <>
            <p className={css['note']}>
              {plural(pairs.length, 'case')} with the same input on both sides, of up to {MOST_CASES} read; without a
              partner: {alone.baseline} of the baseline, {alone.candidate} of the candidate.
            </p>
            <ol className={css['cases']} aria-label="Cases">
              {pairs.map((pair) => (
                <li key={pair.key} className={css['case']}>
                  <div className={css['text']}>{pair.input === undefined ? UNKNOWN : previewOf(pair.input).text}</div>
                  <div className={css['sides']}>
                    <Side name="Baseline" ran={pair.baseline} />
                    <Side name="Candidate" ran={pair.candidate} />
                  </div>
                  <p>Delta {formatDelta(pair.candidate.value - pair.baseline.value)}</p>
                  <WordDiff before={pair.baseline.output} after={pair.candidate.output} />
                </li>
              ))}
            </ol>
          </>
        )
      }
    </Loaded>
  );
};
