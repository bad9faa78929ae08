import type { Changes, LimitPlace, LimitRecord } from '../../src/store/runs/run-store.ts';

/**
 * A naive model of keys: all who hold one and all who wait, as lists. It looks at every commit, and says what the counts of the
 * service must be.
 * @param hold fails with the words where something is not so
 */
export const createKeyWatch = (hold: (isTrue: boolean, what: string) => void) => {
  const places = new Map<number, LimitPlace>();
  const limits = new Map<string, LimitRecord>();
  const lines = new Map<string, { readonly waitsOn: string; readonly waiting: number }>();
  const seen = { held: 0, waited: 0, starts: 0 };
  let most = 0;

  const check = (record: LimitRecord): void => {
    const { limitId, key, limit, perMs, starts } = record;
    const all = [...places.values()].filter((place) => place.concurrencyId === limitId || place.rateId === limitId);
    const holders = all.filter(({ lineId }) => lineId === undefined);
    const waiting = all.length - holders.length;
    hold(waiting === record.waiting, `key ${key} counts ${record.waiting} that wait, and ${waiting} do`);
    const parked = [...lines.values()].filter(({ waitsOn }) => waitsOn === limitId);
    hold(parked.length === record.lines, `key ${key} counts ${record.lines} lines, and there are ${parked.length}`);
    hold(record.state !== 'free' || parked.length === 0, `key ${key} has room and nobody is to let the next in`);
    if (perMs === undefined) {
      hold(holders.length <= limit, `key ${key} has ${holders.length} holders, and a limit of ${limit}`);
      hold(holders.length === record.used, `key ${key} counts ${record.used} holders, and there are ${holders.length}`);
      most = Math.max(most, holders.length);
      return;
    }
    hold(starts.length === record.used, `key ${key} counts ${record.used} starts, and keeps ${starts.length}`);
    for (const [at, from] of starts.entries()) {
      const over = starts[at + limit];
      hold(over === undefined || over - from > perMs, `key ${key}: ${limit + 1} starts within ${perMs} ms`);
    }
  };

  return {
    look: (changes: Changes): void => {
      for (const limitId of changes.limitsGone) limits.delete(limitId);
      for (const record of changes.limitsInserted) {
        hold(!limits.has(record.limitId), `key ${record.key} comes into use twice`);
        limits.set(record.limitId, record);
      }
      for (const record of changes.limitsUpdated) {
        hold(limits.has(record.limitId), `key ${record.key} is changed and not in use`);
        limits.set(record.limitId, record);
      }
      for (const lineId of changes.linesGone) lines.delete(lineId);
      for (const line of changes.linesSet) lines.set(line.lineId, line);
      for (const order of changes.placesGone) places.delete(order);
      for (const place of changes.placesSet) {
        places.set(place.order, place);
        if (place.lineId === undefined) seen.held += 1;
        else seen.waited += 1;
      }
      for (const record of [...changes.limitsInserted, ...changes.limitsUpdated]) {
        seen.starts += record.starts.length;
        check(record);
      }
      for (const { lineId, waiting } of changes.linesSet) {
        const standing = [...places.values()].filter((place) => place.lineId === lineId).length;
        hold(standing === waiting, `a line counts ${waiting}, and ${standing} stand in it`);
      }
    },
    /** Once all runs have ended: nobody holds a key, and nobody waits. */
    checkAtRest: (): void => {
      hold(places.size === 0, `${places.size} places are left behind`);
      hold(lines.size === 0, `${lines.size} lines are left behind`);
      for (const { key, kind } of limits.values()) hold(kind === 'rate', `key ${key} is left behind`);
    },
    seen: () => ({ ...seen, most }),
  };
};
