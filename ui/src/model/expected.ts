import { canonicalJson } from './compare.ts';

/** A case, as far as a span is held against it. */
export type ExpectingCase = {
  readonly item_id: string;
  readonly input: unknown;
  readonly expected?: unknown;
  readonly source_trace_id?: string;
};

/** What an answer is held against a case by: the trace that the case was made of, or else the same input. */
export type Asked = { readonly traceId: string; readonly isRoot: boolean; readonly input: unknown };

/**
 * The case that says what a span should have answered. A case made of the trace expects the answer of its root; of any span the input
 * decides. Of several the newest counts, as scorers take it.
 * @param cases in the order in which they were made
 */
export const expectingCase = <Case extends ExpectingCase>(
  cases: readonly Case[],
  { traceId, isRoot, input }: Asked,
): Case | undefined => {
  const expecting = cases.filter(({ expected }) => expected !== undefined);
  const key = input === undefined ? undefined : canonicalJson(input);
  return (
    (isRoot ? expecting.findLast(({ source_trace_id: source }) => source === traceId) : undefined) ??
    (key === undefined ? undefined : expecting.findLast((one) => canonicalJson(one.input) === key))
  );
};
