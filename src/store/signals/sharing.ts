/**
 * What services that share one store settle through it: who does what is to be done once, what was reported, and how many signals of
 * a ceiling are taken. Every method rejects with `StoreUnavailable` when the store is away.
 */
export interface Sharing {
  /**
   * Takes a duty that nobody holds, or whose holder has not renewed it in time, or renews it. Time is that of the store.
   * @param forMs how long it is held without being renewed
   * @returns whether it is held now by this holder
   */
  holdDuty(duty: string, holder: string, forMs: number): Promise<boolean>;
  /** Gives a duty back; nothing when another holds it by now. */
  endDuty(duty: string, holder: string): Promise<void>;

  /** What was reported last of each subject. */
  reported(): Promise<ReadonlyMap<string, string>>;
  noteReported(subject: string, condition: string): Promise<void>;

  /**
   * Takes signals from a project's ceiling for a minute.
   * @param minute counted from 1970
   * @returns how many were taken: fewer than wanted where the ceiling has no more, never more
   */
  reserveSignals(project: string, minute: number, wanted: number, ceiling: number): Promise<number>;
}
