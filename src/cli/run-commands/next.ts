import type { components } from '../../model/generated/openapi.ts';
import type { Moments } from '../moments.ts';
import { printable } from '../printable.ts';
import { openChildren } from '../run-detail.ts';

type Run = components['schemas']['RunDetail'];

const step = (id: string | undefined): string => (id === undefined ? 'its step' : `step ${printable(id)}`);

/** What a word of the command line may be without quotes. */
const PLAIN_WORD = /^[\w.:/@-]+$/;

type Next = { readonly at?: string; readonly text: string };

const ofKey = ({ waiting_for: waiting, cursor }: Run): Next => {
  const goes = cursor === undefined ? 'it begins' : `${step(cursor)} can be taken`;
  if (waiting === undefined) return { text: `${goes} when it is its turn in the line of its key` };
  const { key, position, holders, next_at: at } = waiting;
  const place = `key ${printable(JSON.stringify(key), 120)}, number ${position} in line`;
  if (at !== undefined)
    return { at, text: `the rate of its key has room for the first in line, then ${goes} in its turn: ${place}` };
  const held =
    holders.length === 0
      ? ''
      : `, held by ${holders.slice(0, 3).join(', ')}${holders.length > 3 ? ` and ${holders.length - 3} more` : ''}`;
  return { text: `${goes} when it is its turn: ${place}${held}` };
};

const ofQueue = (run: Run): Next => {
  const { cursor, queued_reason: reason, definition_id: id, definition_version: version } = run;
  const serves = `serves ${printable(id)} version ${version}`;
  switch (reason) {
    case 'no_worker':
      return { text: `nothing, until a worker starts that ${serves}: none is live` };
    case 'version_missing':
      return {
        text: `nothing, until a worker starts that ${serves}: those that are live hold other versions, or refused it`,
      };
    case 'definition_paused':
      return { text: `nothing, until definition ${printable(id)} is resumed: svc definitions resume ${printable(id)}` };
    case 'concurrency_key':
    case 'rate':
      return ofKey(run);
    case 'workers_busy':
    case undefined:
      return { text: `the next free worker that ${serves} takes ${step(cursor)}` };
    default:
      // Of a newer service.
      return { text: `${step(cursor)} is taken by a worker when it may go on (${printable(reason satisfies never)})` };
  }
};

const ofAttempts = ({ attempts }: Run): Next[] =>
  attempts.flatMap(({ status, step_id: id, worker_id: worker, lease_expires_at: at }): Next[] => {
    const by = `worker ${printable(worker, 120)}`;
    const expires = at === undefined ? {} : { at };
    if (status === 'running')
      return [
        { text: `${by} reports how ${step(id)} ended` },
        { ...expires, text: `without a heartbeat of it the lease of ${step(id)} expires` },
      ];
    if (status === 'offered')
      return [
        { text: `${by} starts ${step(id)}` },
        { ...expires, text: `unless it does, ${step(id)} is offered again` },
      ];
    if (status === 'orphaned')
      return [{ text: `${by} fell silent at ${step(id)}: it comes back, or the attempt is given up` }];
    return [];
  });

const ofWaits = ({ run_id: id, waits }: Run): Next[] => {
  // A signal names an event and no key: one line an event.
  const names = [...new Set(waits.map(({ event }) => event))];
  const at = waits.find(({ deadline_at: deadline }) => deadline !== undefined)?.deadline_at;
  return [
    ...names.map((event) => ({
      text: `on event "${printable(event, 120)}" the run goes on; to give it: svc runs signal ${printable(id)} ${PLAIN_WORD.test(event) ? event : '<event>'}`,
    })),
    ...(at === undefined
      ? []
      : [
          {
            at,
            text: `the wait for ${names.map((event) => `event "${printable(event, 120)}"`).join(' or ')} times out`,
          },
        ]),
  ];
};

const ofTimers = ({ timers, attempts }: Run): Next[] =>
  timers.flatMap(({ name, due_at: due, step_id: id }): Next[] => {
    const at = due === undefined ? {} : { at: due };
    switch (name) {
      case 'wait':
        return []; // it stands with the wait
      case 'start_at':
        return [{ ...at, text: 'the run begins' }];
      case 'sleep':
        return [
          {
            ...at,
            text:
              due === undefined ? `${step(id)} sleeps without an end` : `${step(id)} has slept, and the run goes on`,
          },
        ];
      case 'backoff': {
        const last = attempts.findLast((attempt) => attempt.step_id === id);
        return [{ ...at, text: `attempt ${(last?.attempt ?? 0) + 1} of ${step(id)} is due` }];
      }
      case 'timeout':
        return [{ ...at, text: `${step(id)} times out, unless its worker reports before` }];
      case 'run_timeout':
        return [{ ...at, text: 'the run fails with limit run_timeout_ms, unless it has ended before' }];
      default:
        return [{ ...at, text: `timer ${printable(name)}${id === undefined ? '' : ` of ${step(id)}`} is due` }];
    }
  });

const ofChildren = (run: Run): Next[] => {
  const open = openChildren(run).length;
  if (open === 0) return [];
  return [
    {
      text: `when ${open === 1 ? 'its child run has' : `the last of its ${open} open child runs has`} ended, the run goes on`,
    },
  ];
};

/**
 * What happens next to a run and when, a line each: what has a time by that time, what waits for somebody first.
 * @returns nothing for a run that has ended
 */
export const nextLines = (run: Run, { moment }: Moments): string[] => {
  if (run.ended_at !== undefined) return [];
  const all = [
    ...(run.status === 'queued' ? [ofQueue(run)] : []),
    ...ofAttempts(run),
    ...ofWaits(run),
    ...ofChildren(run),
    ...ofTimers(run),
  ];
  const timed = all
    .filter((one) => one.at !== undefined)
    .toSorted((a, b) => Date.parse(a.at ?? '') - Date.parse(b.at ?? ''));
  return [...all.filter(({ at }) => at === undefined), ...timed].map(({ at, text }) =>
    at === undefined ? text : `${moment(at)}: ${text}`,
  );
};
