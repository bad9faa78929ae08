/** What the index must know of a claim. */
export type Indexed = {
  /** The definitions of which it may have steps, by `ownedId`; each once. */
  readonly definitions: readonly string[];
  /** The one run of which it wants a step. */
  readonly runId: string | undefined;
};

/**
 * Claims that wait, each set in the order in which they came. A fleet may wait for other definitions than the one that has steps: those
 * claims are not looked at.
 */
export const createWaitingClaims = <C extends Indexed>() => {
  const all = new Set<C>();
  const byDefinition = new Map<string, Set<C>>();
  const byRun = new Map<string, Set<C>>();

  const addTo = (index: Map<string, Set<C>>, key: string, claim: C): void => {
    const claims = index.get(key);
    if (claims === undefined) index.set(key, new Set([claim]));
    else claims.add(claim);
  };
  const deleteFrom = (index: Map<string, Set<C>>, key: string, claim: C): void => {
    const claims = index.get(key);
    if (claims?.delete(claim) === true && claims.size === 0) index.delete(key);
  };

  return {
    add: (claim: C): void => {
      all.add(claim);
      if (claim.runId !== undefined) addTo(byRun, claim.runId, claim);
      for (const definition of claim.definitions) addTo(byDefinition, definition, claim);
    },
    delete: (claim: C): void => {
      all.delete(claim);
      if (claim.runId !== undefined) deleteFrom(byRun, claim.runId, claim);
      for (const definition of claim.definitions) deleteFrom(byDefinition, definition, claim);
    },
    all: all as ReadonlySet<C>,
    /** Those that may have steps of a definition, by `ownedId`. */
    byDefinition: byDefinition as ReadonlyMap<string, ReadonlySet<C>>,
    /** Those that want a step of one run, by its id. */
    byRun: byRun as ReadonlyMap<string, ReadonlySet<C>>,
  };
};
