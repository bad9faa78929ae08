import { PIPELINE_MACHINE_VERSION, pipelineMachine } from '../machines/pipeline.ts';
import { createResident, type ResidentActor } from '../machines/resident.ts';
import { type FailureCode, type FaultNote, Refusal } from '../model/failure.ts';
import type { JsonObject } from '../model/json.ts';
import { createRate } from '../model/rate.ts';
import type { Admission } from './admission.ts';

/** Without a request for so long the pipeline is idle: between the requests of a client that sends one by one it is not. */
const QUIET_MS = 1000;

/** What ends one request. */
export type RequestEnd = { readonly accepted: number; readonly refused: number };

/**
 * The pipeline as an actor: its address, where it stands and why. It decides nothing. Requests are counted one by one; its
 * machine is stepped only when its state changes, which on a busy service is never.
 * @param host.now milliseconds since the Unix epoch
 * @param host.monotonic milliseconds of a clock that does not jump
 * @param host.turns what the pipeline itself knows of its work
 */
export const createPipelineActor = (host: {
  readonly admission: Pick<Admission, 'heldBytes' | 'requests' | 'bounds'>;
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly turns: () => { readonly waiting: number; readonly details: JsonObject };
}) => {
  const { admission, now, monotonic } = host;
  const actor = createResident(pipelineMachine, now);
  const born = monotonic();
  const rates = { requests: createRate(born), signals: createRate(born), refused: createRate(born) };
  /** When each request came that is inside, oldest first. */
  const inside = new Set<{ readonly since: number }>();
  let leftAt = born;
  let lastTurn: (RequestEnd & { readonly at: number; readonly durationMs: number }) | undefined;
  let lastFault: FaultNote | undefined;

  const isOpen = (): boolean => actor.value() !== 'draining' && actor.value() !== 'closed';

  /** Silence is no event: it is noticed when somebody looks, or comes. */
  const noticeQuiet = (at: number): void => {
    const quietMs = at - leftAt - QUIET_MS;
    if (inside.size > 0 || quietMs < 0 || (actor.value() !== 'accepting' && actor.value() !== 'full')) return;
    actor.send({ type: 'requests.none' }, now() - Math.floor(quietMs));
  };

  const noteFault = (code: FailureCode): void => {
    lastFault = { at: now(), code };
  };

  /** A request was let in. @returns what to call when it ends */
  const entered = (): ((end: RequestEnd | undefined) => void) => {
    const since = monotonic();
    const request = { since };
    noticeQuiet(since);
    inside.add(request);
    rates.requests.add(since);
    if (isOpen() && actor.value() !== 'accepting') actor.send({ type: 'request.entered' });
    return (end) => {
      leftAt = monotonic();
      inside.delete(request);
      if (end === undefined) return;
      rates.signals.add(leftAt, end.accepted);
      lastTurn = { at: now(), durationMs: Math.round(leftAt - since), ...end };
    };
  };

  /** A request ended with an error, at the door or inside. */
  const failed = (error: unknown): void => {
    const code = error instanceof Refusal ? error.failure.code : 'internal';
    if (code !== 'overloaded') {
      // What a sender did wrong, or sent too much of, is no fault of the pipeline.
      if (code === 'store_unavailable' || code === 'internal') noteFault(code);
      return;
    }
    noteFault(code);
    rates.refused.add(monotonic());
    if (isOpen() && actor.value() !== 'full') actor.send({ type: 'request.refused' });
  };

  const resident: ResidentActor = {
    machine: pipelineMachine,
    version: PIPELINE_MACHINE_VERSION,
    state: () => {
      noticeQuiet(monotonic());
      return actor.state();
    },
    read: async () => {
      const at = monotonic();
      noticeQuiet(at);
      const [oldest] = inside;
      const { waiting, details } = host.turns();
      return {
        ...actor.state(),
        mailbox: waiting,
        context: {
          requests: inside.size,
          ...(oldest === undefined ? {} : { oldestMs: Math.round(at - oldest.since) }),
          heldBytes: admission.heldBytes(),
          ...admission.bounds,
          waitingTurns: waiting,
          ...details,
          ...(lastTurn === undefined ? {} : { lastTurn }),
          ...(lastFault === undefined ? {} : { lastFault }),
          perSecond: {
            requests: rates.requests.perSecond(at),
            signals: rates.signals.perSecond(at),
            refused: rates.refused.perSecond(at),
          },
        },
      };
    },
  };

  return {
    resident,
    entered,
    failed,
    draining: (): void => {
      if (isOpen()) actor.send({ type: 'drain.began' });
    },
    drained: (): void => {
      if (actor.value() === 'draining') actor.send({ type: 'drain.ended' });
    },
  };
};
