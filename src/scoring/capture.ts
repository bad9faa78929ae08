import { newRecordId } from '../model/ids.ts';
import type { Json } from '../model/json.ts';
import { payloadText } from '../model/signal.ts';
import type { UnixNano } from '../model/time.ts';
import type { Dataset, NewDatasetItem } from '../store/signals/evaluation.ts';
import type { SignalStore } from '../store/signals/signal-store.ts';
import { type Answer, findAnswer, findInput } from './answer.ts';

export type CaptureReport = {
  readonly captured: readonly { readonly itemId: string; readonly traceId: string }[];
  readonly skipped: readonly { readonly traceId: string; readonly reason: string }[];
};

type Captured =
  | { readonly kind: 'item'; readonly item: NewDatasetItem }
  | { readonly kind: 'skipped'; readonly reason: string };

/** What a run said, as scorers will compare it: structured data as it is, else its words without the messages around them. */
const expectedOf = ({ text, payload }: Answer): Json =>
  typeof payload !== 'string' && text === payloadText(payload) ? payload : text;

const captureOne = async (
  store: Pick<SignalStore, 'findTrace'>,
  dataset: Dataset,
  traceId: string,
  useOutputAsExpected: boolean,
  now: UnixNano,
): Promise<Captured> => {
  const detail = await store.findTrace(traceId, [dataset.project], true);
  if (detail === undefined)
    return { kind: 'skipped', reason: `no run ${traceId} is stored in project ${JSON.stringify(dataset.project)}` };
  const input = findInput(detail);
  if (input === undefined) return { kind: 'skipped', reason: 'the run has no input to make a case of' };
  const answer = useOutputAsExpected ? findAnswer(detail) : undefined;
  const hasAnswer = answer !== undefined && answer.text.trim() !== '';
  return {
    kind: 'item',
    item: {
      itemId: newRecordId(),
      input,
      ...(hasAnswer ? { expected: expectedOf(answer) } : {}),
      sourceTraceId: traceId,
      createdAt: now,
    },
  };
};

/**
 * Makes cases of stored runs, one at a time, each keeping the run it came from. A run of another project, or without an
 * input, is skipped with the reason. A run without an answer gives a case without an expected one. A run that was captured before
 * gives one more case.
 * @returns `undefined` when the dataset was deleted meanwhile
 * @see Interface specification, "Dataset, case, experiment"
 */
export const captureRuns = async (
  store: Pick<SignalStore, 'findTrace' | 'putItems'>,
  dataset: Dataset,
  traceIds: readonly string[],
  useOutputAsExpected: boolean,
  clock: () => UnixNano,
): Promise<CaptureReport | undefined> => {
  const captured: { itemId: string; traceId: string }[] = [];
  const skipped: { traceId: string; reason: string }[] = [];
  for (const traceId of new Set(traceIds)) {
    const outcome = await captureOne(store, dataset, traceId, useOutputAsExpected, clock());
    if (outcome.kind === 'skipped') {
      skipped.push({ traceId, reason: outcome.reason });
      continue;
    }
    if ((await store.putItems(dataset, [outcome.item])) === 'no_dataset') return undefined;
    captured.push({ itemId: outcome.item.itemId, traceId });
  }
  return { captured, skipped };
};
