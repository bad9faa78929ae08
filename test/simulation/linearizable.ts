import type { Call } from './ledger.ts';

/**
 * The lease of the specification as a sequential object. `held` and `running` are live; `fenced` ended without its worker,
 * `applied` by its worker's own report, `over` with the run.
 */
type State = 'held' | 'running' | 'applied' | 'fenced' | 'over';

/** What the service may do by itself between two calls: time takes a lease, anything may end a run. */
const byItself: Readonly<Record<State, readonly State[]>> = {
  held: ['fenced', 'over'],
  running: ['fenced', 'over'],
  fenced: ['over'],
  applied: [],
  over: [],
};

/** The state after a call that was answered so; `undefined` when the table does not allow that answer here. */
const after = (state: State, call: Call, answer: string, delivery: string): State | undefined => {
  const live = state === 'held' || state === 'running';
  const reports = call.verb === 'complete' || call.verb === 'fail';
  const undeclared = state === 'held' && delivery === 'at_most_once' && reports && call.errorClass !== 'unservable';
  switch (answer) {
    case 'ok':
      if (!live || undeclared) return undefined;
      return reports ? 'applied' : call.verb === 'started' ? 'running' : state;
    case 'already_applied':
      return state === 'applied' ? state : undefined;
    case 'run_terminal':
      return state === 'over' ? state : undefined;
    case 'fenced':
      return state === 'fenced' ? state : undefined;
    case 'not_started':
      return undeclared ? state : undefined;
    default:
      return undefined;
  }
};

/**
 * Looks for an order of the calls on one lease that the table allows, that keeps every call between its start and its
 * answer, and in which each call without an answer happened at some time or never. (Wing and Gong's search, with memory.)
 */
export const isLinearizable = (calls: readonly Call[], delivery: string): boolean => {
  const failed = new Set<string>();
  const search = (done: bigint, state: State): boolean => {
    const left = calls
      .map((call, index) => ({ call, index }))
      .filter(({ index }) => (done & (1n << BigInt(index))) === 0n);
    if (left.every(({ call }) => call.answer === undefined)) return true;
    const memory = `${done} ${state}`;
    if (failed.has(memory)) return false;
    // A call can be next when no other was answered before it began.
    const firstAnswer = Math.min(...left.map(({ call }) => call.to ?? Infinity));
    for (const { call, index } of left) {
      if (call.from > firstAnswer) continue;
      const now = done | (1n << BigInt(index));
      if (call.answer === undefined) {
        const happened = after(state, call, 'ok', delivery);
        if (happened !== undefined && search(now, happened)) return true;
        continue;
      }
      const next = after(state, call, call.answer, delivery);
      if (next !== undefined && search(now, next)) return true;
    }
    for (const next of byItself[state]) if (search(done, next)) return true;
    failed.add(memory);
    return false;
  };
  return search(0n, 'held');
};
