/** What is drawn upon the states of a chart, by their ids. */
export type Marks = {
  /** The states that the machine is in, each with all around it. */
  readonly active?: ReadonlySet<string> | undefined;
  /** Where it is now, while the reader looks at an earlier moment. */
  readonly ghost?: ReadonlySet<string> | undefined;
  /** The way that it took. */
  readonly visited?: ReadonlySet<string> | undefined;
  /** How often it entered each state, where that was more than once. */
  readonly visits?: ReadonlyMap<string, number> | undefined;
  /** The states whose latest attempt failed. */
  readonly failed?: ReadonlySet<string> | undefined;
  /** How many attempts each state took, where that was more than one. */
  readonly attempts?: ReadonlyMap<string, number> | undefined;
  /** How many are in each state; closed states have the sum of what is inside. */
  readonly counts?: ReadonlyMap<string, number> | undefined;
  readonly faults?: ReadonlyMap<string, number> | undefined;
};
