import type { components } from '../api/types.ts';

type Run = Pick<components['schemas']['RunSummary'], 'waiting_on' | 'waiting_keys'>;

const words: Partial<Readonly<Record<NonNullable<Run['waiting_on']>, string>>> = {
  backoff: 'backoff of a try',
  worker: 'a worker',
  orphan: 'a silent worker',
  key: 'room under a key',
};

/** What a run waits for, in few words: an event by its keys. */
export const waitingText = ({ waiting_on: waitingOn, waiting_keys: keys = [] }: Run): string => {
  if (waitingOn === undefined) return '—';
  const what = words[waitingOn] ?? waitingOn;
  return keys.length === 0 ? what : `${what} ${keys.join(' or ')}`;
};
