import { setTimeout as wait } from 'node:timers/promises';
import type { components } from '../../model/generated/openapi.ts';
import { isRunId } from '../../model/ids.ts';
import { DaemonError } from '../daemon-client.ts';
import { type Moments, span } from '../moments.ts';
import { jsonText, printable } from '../printable.ts';
import { misused, withDaemon } from '../with-daemon.ts';
import { type RunDetail } from './detail.ts';
import { errorText } from './list.ts';
import { endStatus, notARun, patience, type RunIo, runPath } from './steer.ts';

type Entry = components['schemas']['JournalEntry'];

const MOST_CHARACTERS = 500;

const text = (data: Entry['data'], name: string): string | undefined => {
  const value = data[name];
  return typeof value === 'string' || typeof value === 'number' ? printable(String(value), 200) : undefined;
};

const errorOf = ({ error }: Entry['data']): string => {
  if (typeof error !== 'object' || error === null || !('class' in error) || !('message' in error)) return '';
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  return `: ${errorText({ class: String(error.class), message: String(error.message), ...code }, MOST_CHARACTERS)}`;
};

/** A time that an entry names; how far off it is says something only while it lies ahead. */
const dueText = (data: Entry['data'], name: string, moments: Moments): string | undefined => {
  const due = data[name];
  if (typeof due !== 'string') return undefined;
  return moments.isAhead(due) ? moments.moment(due) : moments.at(due);
};

const waitText = (data: Entry['data'], moments: Moments): string => {
  const reason = text(data, 'reason') ?? 'something';
  const event = text(data, 'event');
  const key = text(data, 'key');
  const due = dueText(data, 'due_at', moments);
  const until = due === undefined ? '' : `, until ${due}`;
  if (Array.isArray(data['any'])) {
    const each = (data['any'] as readonly Entry['data'][]).map(
      (one) => `event "${text(one, 'event') ?? ''}" with key "${text(one, 'key') ?? ''}"`,
    );
    return `waits for the first of ${each.join(', ')}${until}`;
  }
  if (event !== undefined) return `waits for event "${event}"${key === undefined ? '' : ` with key "${key}"`}${until}`;
  const words: Readonly<Record<string, string>> = {
    sleep: 'sleeps',
    backoff: 'waits for its next attempt',
    children: 'waits for its child runs',
    start_at: 'begins later',
  };
  return `${words[reason] ?? `waits for ${reason}`}${until}`;
};

const becauseOf = (data: Entry['data']): string =>
  data['reason'] === undefined ? '' : `: ${text(data, 'reason') ?? ''}`;

/** What an entry of the journal says, in words. */
const entryText = (entry: Entry, moments: Moments): string => {
  const { kind, data, step_id: id, attempt, worker_id: worker } = entry;
  const step = id === undefined ? '' : `step ${printable(id)}`;
  const tried = `${step}${attempt === undefined ? '' : `, attempt ${attempt}`}`;
  switch (kind) {
    case 'run.started':
      return `the run starts: ${text(data, 'definition_id') ?? '?'} version ${text(data, 'definition_version') ?? '?'}`;
    case 'cursor.moved':
      return `enters ${step}${entry.visit === undefined || entry.visit === 1 ? '' : `, visit ${entry.visit}`}`;
    case 'step.leased':
      return `${tried}: offered${worker === undefined ? '' : ` to worker ${printable(worker, 120)}`}`;
    case 'step.started':
      return `${tried}: its worker runs it`;
    case 'step.finished':
      return `${tried}: done`;
    case 'step.failed': {
      const retryAt = dueText(data, 'retry_at', moments);
      const again =
        data['will_retry'] === true ? `; it is tried again${retryAt === undefined ? '' : ` at ${retryAt}`}` : '';
      return `${tried}: failed${errorOf(data)}${again}`;
    }
    case 'step.orphaned':
      return `${tried}: its worker fell silent`;
    case 'step.requeued':
      return `${step}: queued again (${text(data, 'reason') ?? 'retry'})`;
    case 'run.waiting':
      return `${step === '' ? 'the run' : `${step}:`} ${waitText(data, moments)}`;
    case 'run.resumed':
      return `${step === '' ? 'the run' : `${step}:`} goes on (${text(data, 'reason') ?? ''})`;
    case 'run.paused':
      return `the run is paused${data['by'] === 'parent' ? ' with its parent' : ''}${becauseOf(data)}`;
    case 'run.unpaused':
      return `the run is resumed${becauseOf(data)}`;
    case 'run.held': {
      const key = text(data, 'key');
      const at = id === undefined ? 'the run' : step;
      return `${at}: held back (${text(data, 'reason') ?? ''}${key === undefined ? '' : `, key "${key}"`})`;
    }
    case 'run.admitted':
      return `${id === undefined ? 'the run' : step}: admitted`;
    case 'event.delivered':
      return `${step}: event "${text(data, 'event') ?? ''}" with key "${text(data, 'key') ?? ''}" came`;
    case 'child.started':
      return `${step}: child run ${text(data, 'run_id') ?? ''} starts`;
    case 'child.finished':
      return `${step}: child run ${text(data, 'run_id') ?? ''} is ${text(data, 'status') ?? 'over'}`;
    case 'run.finished':
      return `the run ${data['status'] === 'cancelled' ? 'was' : 'has'} ${text(data, 'status') ?? 'ended'}${errorOf(data)}${becauseOf(data)}`;
    default:
      // Of a newer service.
      return `${printable(String(kind satisfies never))} ${step} ${printable(jsonText(data), MOST_CHARACTERS)}`;
  }
};

/** One entry of a journal on one line. */
const entryLine = (entry: Entry, moments: Moments): string =>
  `${String(entry.seq).padStart(4)}  ${moments.at(entry.at)}  ${entryText(entry, moments)}\n`;

/** @param betweenMs what lies between two connections */
type WatchOptions = { readonly after: number; readonly betweenMs?: number };

/**
 * `svc runs watch`: every entry of a run's journal as it is written, over broken connections too, until the run ends. With
 * `json`, an entry a line.
 * @returns the exit status: 3 when the run failed or was cancelled
 */
export const watchRun = async (
  io: RunIo,
  id: string,
  { after, betweenMs = patience.betweenMs }: WatchOptions,
): Promise<number> => {
  if (!isRunId(id)) return misused(io, notARun(id));
  return withDaemon(io, async (client) => {
    const path = runPath(id);
    // A run or a service that is not there is refused at once; one that was there is waited for.
    await client.get<RunDetail>(path);
    let last = after;
    let failures = 0;
    let sawEnd = false;
    /** One connection. @returns the run, once it has ended and nothing of its journal is left */
    const followOnce = async (isOver: boolean): Promise<RunDetail> => {
      for await (const data of client.follow(`${path}/events`, { after: last })) {
        const entry = JSON.parse(data) as Entry;
        if (entry.seq <= last) continue;
        last = entry.seq;
        failures = 0;
        sawEnd ||= entry.kind === 'run.finished';
        io.out(io.json ? `${jsonText(entry)}\n` : entryLine(entry, io.moments()));
      }
      const run = await client.get<RunDetail>(path);
      // It may have ended between the stream and this read: what the journal got meanwhile is read by one stream more.
      return run.ended_at === undefined || sawEnd || isOver ? run : followOnce(true);
    };
    for (;;) {
      try {
        const run = await followOnce(false);
        if (run.ended_at !== undefined) {
          const took = span(Date.parse(run.ended_at) - Date.parse(run.created_at));
          if (!io.json) io.out(`run ${printable(id)} ${run.status} after ${took}\n`);
          return endStatus(run);
        }
      } catch (error) {
        if (!(error instanceof DaemonError) || !error.isBroken || failures >= patience.failures) throw error;
        failures += 1;
      }
      await wait(betweenMs);
    }
  });
};
