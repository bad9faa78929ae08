/** Chance from one number: the same number, the same draws. (mulberry32) */
export const createChance = (seed: number) => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const chance = {
    next,
    /** A whole number from `least` to `most`. */
    between: (least: number, most: number): number => least + Math.floor(next() * (most - least + 1)),
    is: (probability: number): boolean => next() < probability,
    pick: <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T,
  };
  return chance;
};
export type Chance = ReturnType<typeof createChance>;

/** Ids that count: the same in each replay, and in the order of their making. */
export const createIds = () => {
  let made = 0;
  return (): string => `01900000-0000-7000-8000-${(made += 1).toString(16).padStart(12, '0')}`;
};
