import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { expectingCase } from '../../model/expected.ts';
import type { Span } from '../../model/trace.ts';
import { plural, shortId } from '../../model/units.ts';
import { PageLink } from '../../widgets/page-link.tsx';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { WordDiff } from '../../widgets/word-diff.tsx';
import { spanQuery } from './read-spans.ts';
import css from './trace.module.css';

type Case = components['schemas']['DatasetItem'];

/** Datasets to choose from. */
const MOST_DATASETS = 100;
/** Cases that are looked through, a page at a time, when a dataset was chosen. */
const PAGE_CASES = 200;
const MOST_CASES = 2_000;

/** What this span says other than the one of its name before it. */
const DiffWithBefore = ({ spanId, span }: { readonly spanId: string; readonly span: Span }) => {
  const before = useQuery(spanQuery(span.trace_id, spanId));
  return (
    <Loaded query={before} what="the span before it">
      {({ span: other }) => (
        <>
          <p>
            Against{' '}
            <PageLink to={`/traces/${span.trace_id}`} params={{ span: spanId }}>
              {other.name} <code>{shortId(spanId)}</code>
            </PageLink>
            , the span of this name before it.
          </p>
          <h3>Input</h3>
          <WordDiff before={other.input} after={span.input} />
          <h3>Output</h3>
          <WordDiff before={other.output} after={span.output} />
        </>
      )}
    </Loaded>
  );
};

const readCases = async (dataset: string, project: string, signal: AbortSignal): Promise<readonly Case[]> => {
  const cases: Case[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask(
      api.GET('/v1/api/datasets/{dataset}/items', {
        params: {
          path: { dataset },
          query: { project, limit: PAGE_CASES, ...(cursor === undefined ? {} : { cursor }) },
        },
        signal,
      }),
    );
    cases.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined && cases.length < MOST_CASES);
  return cases;
};

/** What this span answered other than a case of the dataset expects. */
const DiffWithExpected = ({ dataset, span }: { readonly dataset: string; readonly span: Span }) => {
  const { project } = span.correlation;
  const asked = { traceId: span.trace_id, isRoot: span.is_root, input: span.input };
  const query = useQuery({
    queryKey: ['datasets', 'expecting', project, dataset, span.trace_id, span.span_id],
    // The cases are let go at once: one of them is all that is kept.
    queryFn: async ({ signal }) => {
      const cases = await readCases(dataset, project, signal);
      return { found: expectingCase(cases, asked), read: cases.length };
    },
  });
  return (
    <Loaded query={query} what="the cases">
      {({ found, read }) =>
        found === undefined ? (
          <EmptyState title="No case expects an answer of this span">
            <p>
              {plural(read, 'case')} {read < MOST_CASES ? 'of it' : 'of it, the first,'} looked through: none with an
              expected answer was made of this trace, nor has the same input.
            </p>
          </EmptyState>
        ) : (
          <>
            <p>
              Against the expected answer of the case <code>{found.item_id}</code> in{' '}
              <PageLink to={`/datasets/${encodeURIComponent(dataset)}`}>its dataset</PageLink>,{' '}
              {found.source_trace_id === span.trace_id ? 'made of this trace' : 'which has the same input'}.
            </p>
            <h3>Output</h3>
            <WordDiff before={found.expected} after={span.output} />
          </>
        )
      }
    </Loaded>
  );
};

const BEFORE = 'before';

/**
 * What a span says other than another did, or should have.
 * @param before the span of the same name and kind before it
 */
export const SpanDiff = ({ before, span }: { readonly before: string | undefined; readonly span: Span }) => {
  const [chosen, setChosen] = useState(before === undefined ? '' : BEFORE);
  const { project } = span.correlation;
  const datasets = useQuery({
    queryKey: ['datasets', 'names', project],
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/api/datasets', { params: { query: { project, limit: MOST_DATASETS } }, signal })),
  });
  return (
    <div className={css['entries']}>
      <label>
        Against{' '}
        <select value={chosen} onChange={({ target }) => setChosen(target.value)}>
          {before === undefined ? (
            <option value="">choose a dataset</option>
          ) : (
            <option value={BEFORE}>the span of this name before it</option>
          )}
          {datasets.data?.datasets.map(({ dataset_id, name }) => (
            <option key={dataset_id} value={`dataset ${dataset_id}`}>
              what {name} expects
            </option>
          ))}
        </select>
      </label>
      {chosen === '' && datasets.data?.datasets.length === 0 && (
        <p>There is no span of this name before it, and the project has no dataset.</p>
      )}
      {chosen === BEFORE && before !== undefined && <DiffWithBefore spanId={before} span={span} />}
      {chosen.startsWith('dataset ') && <DiffWithExpected dataset={chosen.slice('dataset '.length)} span={span} />}
    </div>
  );
};
