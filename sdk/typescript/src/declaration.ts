import type { Answer, LeaseCalls } from './lease-calls.ts';
import { untilAnswered } from './retry.ts';

/** That a body begins, reported to the service. What the body comes to is reported behind it, never before. */
export type Declaration = {
  readonly answer: Promise<Answer>;
  /** The answer, where a body had begun that may not go on. */
  readonly refusal: () => Answer | undefined;
  /** @returns the answer to the report; that to the declaration where it was refused */
  readonly report: (send: () => Promise<Answer>) => Promise<Answer>;
  /** Repeats it no more. */
  readonly stop: () => void;
};

type Declared = {
  /** The body begins before the answer. */
  readonly isEarly: boolean;
  readonly forMs: number;
  readonly onSent: () => void;
  /** Called when a body that had begun may not go on. */
  readonly onRefusal: (answer: Answer) => void;
};

export const declare = (
  started: LeaseCalls['started'],
  { isEarly, forMs, onSent, onRefusal }: Declared,
): Declaration => {
  const repeating = new AbortController();
  let isSent = false;
  let isReporting = false;
  let refusal: Answer | undefined;
  const starting = started({
    signal: repeating.signal,
    // A late declaration is refused as fenced; one that is never answered must not be retried indefinitely.
    policy: { ...untilAnswered, forMs },
    onSent: () => {
      isSent = true;
      onSent();
    },
  });
  const onDeclared = (answer: Answer): void => {
    if (answer.kind === 'taken' || isReporting) return;
    refusal = answer;
    onRefusal(answer);
  };
  if (isEarly) void starting.then(onDeclared);

  return {
    answer: starting,
    refusal: () => refusal,
    report: async (send) => {
      // One that still stands in line is sent with the report, before it.
      if (isEarly && isSent) await starting;
      if (refusal !== undefined) return refusal;
      isReporting = true;
      const answer = await send();
      if (!isEarly || answer.kind !== 'refused' || answer.reason !== 'not_started') return answer;
      // The report overtook it: it was lost on its way, and is sent again.
      const started = await starting;
      return started.kind === 'taken' ? await send() : started;
    },
    // Without a reason an error is made for each step.
    stop: () => repeating.abort('over'),
  };
};
