import type { Json } from '../../json.ts';

/**
 * What checking one input may take: the time of some tens of milliseconds, counted in steps, so that the same input is always judged
 * alike. A step is about a keyword, or a list item: some ten nanoseconds. The depth counts schemas within schemas.
 */
export const checkBounds = { steps: 4_000_000, depth: 800 } as const;

/** What takes longer than a step. */
const SEEN_STEPS = 20;
const SEEN_ENTRY_STEPS = 10;

/** What keywords have said about the parts of one value, for `unevaluatedProperties` and `unevaluatedItems`. */
export type Seen = {
  readonly properties: Set<string>;
  /** The items before this index, and these beside. */
  items: number;
  readonly contained: Set<number>;
};

/** The check of one input, under way. */
export type Check = {
  stepsLeft: number;
  depthLeft: number;
  /** Where in the input. */
  readonly path: (string | number)[];
  /** The first thing that is wrong. */
  fault: { readonly path: readonly (string | number)[]; readonly message: string } | undefined;
};

/** One keyword of a schema, ready to be applied. */
export type Rule = {
  /** @returns whether the value meets it; if not, the fault is noted */
  readonly isMet: (value: Json, check: Check, seen: Seen | undefined) => boolean;
  /** Steps that it takes for any value, beside those that it spends. */
  readonly steps: number;
};

/** A schema, ready to be applied. Filled in after it was made, since schemas refer to each other. */
export type Node = { rules: readonly Rule[]; steps: number; readonly notesSeen: boolean };

/** Thrown within a check alone: it takes more than `checkBounds` allow. */
export class TooMuch extends Error {}

export const spend = (check: Check, steps: number): void => {
  check.stepsLeft -= steps;
  if (check.stepsLeft < 0) throw new TooMuch(`more than ${checkBounds.steps} steps`);
};

/** Notes what is wrong, unless something was noted before. @returns false, for a rule to answer with */
export const fault = (check: Check, message: string, ...below: readonly (string | number)[]): false => {
  if (check.fault !== undefined) return false;
  spend(check, check.path.length);
  check.fault = { path: [...check.path, ...below], message };
  return false;
};

const addSeen = (to: Seen, from: Seen, check: Check): void => {
  spend(check, SEEN_ENTRY_STEPS * (from.properties.size + from.contained.size));
  for (const name of from.properties) to.properties.add(name);
  for (const index of from.contained) to.contained.add(index);
  to.items = Math.max(to.items, from.items);
};

/**
 * Applies a schema to a value.
 * @param seen of the schema that holds this one and applies it to the same value; absent where it is applied to a part
 */
export const isMetBy = (node: Node, value: Json, check: Check, seen?: Seen): boolean => {
  spend(check, node.notesSeen ? node.steps + SEEN_STEPS : node.steps);
  check.depthLeft -= 1;
  if (check.depthLeft < 0) throw new TooMuch(`a depth of more than ${checkBounds.depth} schemas`);
  const own: Seen | undefined = node.notesSeen ? { properties: new Set(), items: 0, contained: new Set() } : undefined;
  let isMet = true;
  for (const rule of node.rules) {
    isMet = rule.isMet(value, check, own);
    if (!isMet) break;
  }
  check.depthLeft += 1;
  if (isMet && own !== undefined && seen !== undefined) addSeen(seen, own, check);
  return isMet;
};

/** Applies a schema to a part of the value: an item, or the value of a property. */
export const isMetWithin = (node: Node, part: Json, at: string | number, check: Check): boolean => {
  check.path.push(at);
  const isMet = isMetBy(node, part, check);
  check.path.pop();
  return isMet;
};

/** Applies a schema without a fault being noted: what it says is not the last word. */
export const wouldBeMet = (node: Node, value: Json, check: Check, seen?: Seen): boolean => {
  const before = check.fault;
  const isMet = isMetBy(node, value, check, seen);
  check.fault = before;
  return isMet;
};

/**
 * Checks an input against a schema.
 * @returns what is wrong; `undefined` when nothing is
 * @throws TooMuch when that cannot be said within `checkBounds`
 */
export const findInputFault = (root: Node, input: Json): Check['fault'] => {
  const check: Check = {
    stepsLeft: checkBounds.steps,
    depthLeft: checkBounds.depth,
    path: [],
    fault: undefined,
  };
  return isMetBy(root, input, check) ? undefined : check.fault;
};
