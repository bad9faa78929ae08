import type { components } from '../api/types.ts';

type Actor = Pick<components['schemas']['ActorSnapshot'], 'type' | 'status' | 'value' | 'context'>;

/** What an actor will do by itself, and when, in milliseconds since 1970, where a time is set. */
export type ActorNext = { readonly what: string; readonly at?: number };

const LEASES: Readonly<Record<string, string>> = {
  offered: 'the step goes back to the queue, unless its worker starts it',
  running: 'it becomes an orphan, unless its worker sends a heartbeat',
  orphaned: 'it is reclaimed, unless its worker reports',
};

/** Nothing where it has ended, or only a message can move it. */
export const nextOfActor = ({ type, status, value, context }: Actor): ActorNext | undefined => {
  if (status !== 'active' || typeof context !== 'object' || context === null) return undefined;
  const held: Readonly<Record<string, unknown>> = { ...context };
  const at = (name: string): { readonly at: number } | undefined => {
    const time = held[name];
    return typeof time === 'number' ? { at: time } : undefined;
  };
  const timed = (name: string, what: string): ActorNext | undefined => {
    const time = at(name);
    return time === undefined ? undefined : { what, ...time };
  };
  switch (type) {
    case 'lease': {
      const what = typeof value === 'string' ? LEASES[value] : undefined;
      return what === undefined ? undefined : timed('expiresAt', what);
    }
    case 'limit':
      return (
        timed('nextAt', 'it has room for the next in line') ??
        (typeof held['waiting'] === 'number' && held['waiting'] > 0
          ? { what: 'it lets the next in line in, once a holder ends' }
          : undefined)
      );
    case 'schedule':
      return value === 'paused' ? undefined : timed('dueAt', 'it fires');
    case 'timer':
      return timed('nextTimerAt', 'it sends the next timer that is due');
    case 'run':
      return timed('dueAt', 'the timer of its step is due');
    default:
      return undefined;
  }
};
