import type { components } from '../api/types.ts';

type QueuedReason = components['schemas']['QueuedReason'];

const sentences: Readonly<Record<QueuedReason, string>> = {
  no_worker: 'It waits for a worker: none that is live serves its definition.',
  version_missing: 'It waits for a worker: none that is live serves this version of its definition.',
  workers_busy: 'It waits for a worker: all that serve its definition are busy.',
  definition_paused: 'It waits: its definition is paused.',
  concurrency_key: 'It waits for its concurrency key: as many runs hold it as may.',
  rate: 'It waits for its rate: as many have begun with its key as may.',
};

/** Why a queued run waits, as a sentence; a reason of a later release is shown as the word it is. */
export const queuedBecause = (reason: string): string =>
  Object.hasOwn(sentences, reason) ? sentences[reason as QueuedReason] : `It waits: ${reason.replaceAll('_', ' ')}.`;
