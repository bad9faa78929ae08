import type { FastifyReply } from 'fastify';
import { inBytes } from '../../ingest/limits.ts';
import type { Counters } from '../../model/counters.ts';
import { Refusal } from '../../model/failure.ts';

const MEBIBYTE = 1024 * 1024;
/** Memory for answers under way, where nobody says otherwise. @see Interface decisions, "12", bounds */
const MAX_ANSWER_BYTES = 256 * MEBIBYTE;
/** What a read is expected to answer before anything is known about it. */
export const USUAL_ANSWER_BYTES = 64 * 1024;
/** An answer that is expected to be larger is a large one. */
const LARGE_BYTES = MEBIBYTE;
/** The part of all room that large answers leave to the others. */
const KEPT_FOR_OTHERS = 1 / 8;
/** After this many seconds a refused client may find room again. */
const RETRY_AFTER_SECONDS = 1;

/** The share of one answer in what may be under way. It goes back when the answer's connection has it, or is gone. */
export type AnswerShare = {
  /**
   * Takes room for an answer before its rows are read, or more of it once more is known.
   * @param bytes the answer as a whole, as far as is known
   * @throws Refusal `overloaded` when there is no room; what was taken before stays
   */
  readonly expect: (bytes: number) => void;
  /** Says how large the answer is. Refuses nothing: it is made. */
  readonly hold: (bytes: number) => void;
  /**
   * Says that so many bytes of an answer that is sent in pieces went to its connection.
   * @param window what is held of it at the least, until its end
   */
  readonly left: (bytes: number, window: number) => void;
};

export type AnswerRoom = {
  readonly shareOf: (reply: FastifyReply) => AnswerShare;
  readonly heldBytes: () => number;
  readonly maxBytes: number;
};

/**
 * Bounds the bytes of answers that are made or being sent. A large answer takes at most all the room that large ones have, so
 * one of any size is served when it is the only one; an eighth of the room is out of their reach, so that they never shut out
 * lists and lookups.
 * @param maxBytes `--max-answer-bytes`
 * @see Interface decisions, "12. Decided since", bounds that were missing
 */
export const createAnswerRoom = (
  counters: Pick<Counters, 'answersRefused'>,
  maxBytes: number = MAX_ANSWER_BYTES,
): AnswerRoom => {
  const largeBound = maxBytes * (1 - KEPT_FOR_OTHERS);
  let held = 0;
  let heldByLarge = 0;

  const noRoom = (): Refusal => {
    counters.answersRefused += 1;
    return new Refusal({
      code: 'overloaded',
      message: `the answers under way hold ${held} of ${inBytes(maxBytes)} (--max-answer-bytes); ask again later, or for less`,
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  };

  return {
    shareOf: ({ raw }) => {
      let mine = 0;
      let isLarge = false;
      let isWatched = false;
      const set = (bytes: number): void => {
        held += bytes - mine;
        if (isLarge) heldByLarge += bytes - mine;
        mine = bytes;
      };
      /** @returns whether anybody waits for the answer; what nobody waits for takes no room */
      const watch = (): boolean => {
        if (isWatched || raw.closed) return !raw.closed;
        isWatched = true;
        raw.once('close', () => set(0));
        return true;
      };
      return {
        expect: (bytes) => {
          if (!watch()) return;
          const becomesLarge = isLarge || bytes > LARGE_BYTES;
          const wanted = Math.min(bytes, becomesLarge ? largeBound : maxBytes);
          if (wanted <= mine) return;
          const others = held - mine;
          const othersLarge = isLarge ? heldByLarge - mine : heldByLarge;
          const fits = becomesLarge
            ? othersLarge + wanted <= largeBound && (othersLarge === 0 || others + wanted <= maxBytes)
            : others === 0 || others + wanted <= maxBytes;
          if (!fits) throw noRoom();
          if (becomesLarge && !isLarge) {
            isLarge = true;
            heldByLarge += mine;
          }
          set(wanted);
        },
        hold: (bytes) => {
          if (watch()) set(Math.min(bytes, maxBytes));
        },
        left: (bytes, window) => {
          if (watch()) set(Math.min(Math.max(mine - bytes, window), maxBytes));
        },
      };
    },
    heldBytes: () => held,
    maxBytes,
  };
};
