import type { components } from '../api/types.ts';
import { awaitedBy } from './run-timeline.ts';

type Entry = components['schemas']['JournalEntry'];

/** Who speaks with a run, or with one of its leases, in the order of the columns. */
export const parties = ['outside', 'parent', 'keys', 'run', 'leases', 'lease', 'worker', 'children'] as const;
export type Party = (typeof parties)[number];
const NAMES: Readonly<Record<Party, string>> = {
  outside: 'Outside',
  parent: 'Parent',
  keys: 'Keys',
  run: 'Run',
  leases: 'Leases',
  lease: 'Lease',
  worker: 'Worker',
  children: 'Children',
};
export const nameOfParty = (party: Party): string => NAMES[party];

/** One message of a sequence diagram. Where both ends are the same, it is what that one notes of itself. */
export type Message = {
  readonly seq: number;
  readonly at: string;
  readonly from: Party;
  readonly to: Party;
  readonly text: string;
  /** The lease, child run or key at the other end, by which it is found. */
  readonly other?: { readonly kind: 'lease' | 'run' | 'limit'; readonly id: string };
  readonly isBad?: true;
};

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const numberOf = (value: unknown): string => (typeof value === 'number' ? String(value) : '');
const errorOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? `: ${textOf(error.message) ?? ''}` : '';

/** `pay`, `pay, visit 2`, `pay, attempt 3`. */
const stepOf = ({ step_id: step = 'a step', visit = 1, attempt = 1 }: Entry): string =>
  `${step}${visit > 1 ? `, visit ${visit}` : ''}${attempt > 1 ? `, attempt ${attempt}` : ''}`;

type Ends = Pick<Message, 'from' | 'to' | 'text' | 'other' | 'isBad'>;
const note = (text: string): Ends => ({ from: 'run', to: 'run', text });

const waitText = ({ data, step_id: step }: Entry): string => {
  switch (data['reason']) {
    case 'event':
      return `waits for ${awaitedBy(data)
        .map(({ event, key }) => (key === '' ? event : `${event} ${key}`))
        .join(' or ')}`;
    case 'sleep':
      return 'sleeps';
    case 'children':
      return 'waits for child runs';
    case 'start_at':
      return 'waits for its start';
    default:
      return `waits${step === undefined ? '' : ` at ${step}`}`;
  }
};

const leaseOf = ({ lease_id: id }: Entry): Pick<Message, 'other'> =>
  id === undefined ? {} : { other: { kind: 'lease', id } };
const runOf = (id: unknown): Pick<Message, 'other'> => {
  const runId = textOf(id);
  return runId === undefined ? {} : { other: { kind: 'run', id: runId } };
};

/** @param parent of the run, which its first entry names */
const endsOf = (entry: Entry, parent: string | undefined): Ends | undefined => {
  const { kind, data } = entry;
  const caller = parent === undefined ? {} : runOf(parent);
  const above: Party = parent === undefined ? 'outside' : 'parent';
  switch (kind) {
    case 'run.started':
      return {
        from: above,
        to: 'run',
        text: `starts ${textOf(data['definition_id']) ?? 'it'}@${numberOf(data['definition_version'])}`,
        ...caller,
      };
    case 'run.held': {
      const limit = textOf(data['limit_id']);
      if (limit === undefined) return note(`held back: ${(textOf(data['reason']) ?? '').replaceAll('_', ' ')}`);
      return {
        from: 'run',
        to: 'keys',
        text: `needs ${textOf(data['key']) ?? 'a key'}`,
        other: { kind: 'limit', id: limit },
      };
    }
    case 'step.leased':
      return {
        from: 'run',
        to: 'leases',
        text: `offers ${stepOf(entry)}${entry.worker_id === undefined ? '' : ` to ${entry.worker_id}`}`,
        ...leaseOf(entry),
      };
    case 'step.started':
      return { from: 'leases', to: 'run', text: `started ${stepOf(entry)}`, ...leaseOf(entry) };
    case 'step.finished':
      return { from: 'leases', to: 'run', text: `finished ${stepOf(entry)}`, ...leaseOf(entry) };
    case 'step.failed': {
      const text = `failed ${stepOf(entry)}${errorOf(data['error'])}`;
      return entry.lease_id === undefined
        ? { ...note(text), isBad: true }
        : { from: 'leases', to: 'run', text, isBad: true, ...leaseOf(entry) };
    }
    case 'step.orphaned':
      return { from: 'leases', to: 'run', text: `silent at ${stepOf(entry)}`, isBad: true, ...leaseOf(entry) };
    case 'step.requeued':
      return note(`queued again: ${textOf(data['reason']) ?? 'retry'}`);
    case 'run.waiting':
      return note(waitText(entry));
    case 'run.resumed':
      return data['reason'] === 'timer' ? note('timer due') : undefined;
    case 'event.delivered':
      return {
        from: 'outside',
        to: 'run',
        text: `event ${textOf(data['event']) ?? ''} ${textOf(data['key']) ?? ''}`.trim(),
      };
    case 'child.started':
      return {
        from: 'run',
        to: 'children',
        text: `starts child ${numberOf(data['index'])}`.trim(),
        ...runOf(data['run_id']),
      };
    case 'child.finished': {
      const status = textOf(data['status']) ?? 'ended';
      return {
        from: 'children',
        to: 'run',
        text: `child ${numberOf(data['index'])} ${status}${errorOf(data['error'])}`,
        ...(status === 'failed' ? { isBad: true as const } : {}),
        ...runOf(data['run_id']),
      };
    }
    case 'run.paused':
      return { from: data['by'] === 'parent' ? 'parent' : 'outside', to: 'run', text: 'pauses it' };
    case 'run.unpaused':
      return { from: above, to: 'run', text: 'resumes it' };
    case 'run.finished': {
      const status = textOf(data['status']) ?? 'ended';
      return {
        from: 'run',
        to: above,
        text: `${status}${errorOf(data['error'])}`,
        ...(status === 'failed' ? { isBad: true as const } : {}),
        ...caller,
      };
    }
    // A key lets it go on only where one held it back: `messagesOf` knows which. A move of the cursor is no message.
    default:
      return undefined;
  }
};

/** The messages between a run and all that it deals with, as its journal has them. */
export const messagesOf = (entries: readonly Entry[]): readonly Message[] => {
  const parent = textOf(entries.find(({ kind }) => kind === 'run.started')?.data['parent_run_id']);
  const messages: Message[] = [];
  let held: Entry | undefined;
  for (const entry of entries) {
    const { seq, at, kind } = entry;
    if (kind === 'run.admitted' && held !== undefined) {
      const limit = textOf(held.data['limit_id']);
      messages.push({
        seq,
        at,
        from: limit === undefined ? 'run' : 'keys',
        to: 'run',
        text: limit === undefined ? 'goes on' : `room for ${textOf(held.data['key']) ?? 'it'}`,
        ...(limit === undefined ? {} : { other: { kind: 'limit', id: limit } }),
      });
    }
    if (kind === 'run.held') held = entry;
    else if (kind === 'run.admitted') held = undefined;
    const ends = endsOf(entry, parent);
    if (ends !== undefined) messages.push({ seq, at, ...ends });
  }
  return messages;
};

/** Who ended an attempt that failed: its worker, or the service by a clock. */
const failureOf = (data: Entry['data']): string | undefined => {
  const error = data['error'];
  return typeof error === 'object' && error !== null && 'class' in error ? textOf(error.class) : undefined;
};

/** What a lease told its run, and what its worker said before, where it was the worker. */
const leaseEnds = (entry: Entry): readonly Ends[] => {
  const { kind, data } = entry;
  switch (kind) {
    case 'step.leased':
      return [
        { from: 'run', to: 'lease', text: `needs ${stepOf(entry)}` },
        { from: 'lease', to: 'worker', text: `offered to ${entry.worker_id ?? 'a worker'}` },
      ];
    case 'step.started':
      return [{ from: 'worker', to: 'lease', text: 'started' }];
    case 'step.orphaned':
      return [{ from: 'lease', to: 'lease', text: 'no heartbeat in time', isBad: true }];
    case 'step.finished':
      return [
        { from: 'worker', to: 'lease', text: 'complete' },
        { from: 'lease', to: 'run', text: `finished ${stepOf(entry)}` },
      ];
    case 'step.failed': {
      const reason = failureOf(data);
      const told: Ends = {
        from: 'lease',
        to: 'run',
        text: `failed ${stepOf(entry)}${errorOf(data['error'])}`,
        isBad: true,
      };
      if (reason === 'timeout')
        return [{ from: 'lease', to: 'lease', text: 'ran longer than its step allows', isBad: true }, told];
      if (reason === 'orphaned')
        return [{ from: 'lease', to: 'lease', text: 'its worker stayed silent', isBad: true }, told];
      return [{ from: 'worker', to: 'lease', text: `fail${errorOf(data['error'])}`, isBad: true }, told];
    }
    // After a failure the run queues the step itself; these are why a lease gives it back without one.
    case 'step.requeued':
      return data['reason'] === 'retry'
        ? []
        : [{ from: 'lease', to: 'run', text: `gives the step back: ${textOf(data['reason']) ?? 'unknown'}` }];
    default:
      return [];
  }
};

/**
 * The messages between a lease, its worker and its run, as the journal of the run has them. Heartbeats, and calls that were refused, are
 * not in a journal.
 */
export const leaseMessagesOf = (entries: readonly Entry[], leaseId: string): readonly Message[] => {
  const own = entries.filter(({ lease_id: id }) => id === leaseId);
  return own.flatMap((entry) => leaseEnds(entry).map((ends) => ({ seq: entry.seq, at: entry.at, ...ends })));
};

/** Most messages that are drawn: a picture of more is no picture. */
const MOST_DRAWN = 120;

/** What is drawn of a diagram, and what lies before and after it. */
export type Sequence = {
  readonly columns: readonly Party[];
  readonly drawn: readonly Message[];
  readonly before: number;
  readonly after: number;
};

/**
 * The last messages up to a moment.
 * @param seq of the moment; nothing is the latest
 */
export const sequenceAt = (messages: readonly Message[], seq: number | undefined, most = MOST_DRAWN): Sequence => {
  const end = seq === undefined ? messages.length : messages.findLastIndex((message) => message.seq <= seq) + 1;
  const start = Math.max(0, end - most);
  const drawn = messages.slice(start, end);
  const used = new Set<Party>(['run', ...messages.flatMap(({ from, to }) => [from, to])]);
  return { columns: parties.filter((party) => used.has(party)), drawn, before: start, after: messages.length - end };
};
