/** A run that this release cannot load. It is quarantined: nothing moves it, and it stays readable. */
export class Quarantined extends Error {
  readonly runId: string;
  /** Why, in words for those who look at the actor. */
  readonly fault: string;
  constructor(runId: string, fault: string, options?: { cause?: unknown }) {
    super(`run ${runId} is quarantined: ${fault}`, options);
    this.name = 'Quarantined';
    this.runId = runId;
    this.fault = fault;
  }
}

/** A row of a run cannot be read: its file was damaged. The turn or read that meets it quarantines the run. */
export class Damaged extends Quarantined {
  /** @param what the row, as an operator knows it; never a part of it */
  constructor(runId: string, what: string, why = 'the row is damaged') {
    super(runId, `${what} cannot be read: ${why}`);
  }
}

/**
 * A stored text as the JSON that it was written as.
 * @throws Damaged when it is none any more. The error of the parser is left out: it quotes the text
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller says what was written, as with a cast of JSON.parse
export const parseStored = <T>(runId: string, text: string, what: string): T => {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new Damaged(runId, what);
  }
};

/** Reads a part of a run for somebody who looks at it: what is damaged is handed over, and left out. */
export const readable = <T>(work: () => T, met: (damage: Damaged) => void): T | undefined => {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Damaged)) throw error;
    met(error);
    return undefined;
  }
};
