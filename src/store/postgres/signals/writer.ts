import type { UnixNano } from '../../../model/time.ts';
import { type JoinedWrites, joinWrites } from '../../signals/joined-writes.ts';
import type { Database } from '../connection.ts';
import { isOfValues } from '../driver-error.ts';
import type { LateTotals } from './late-totals.ts';
import type { ProjectNumbers } from './projects.ts';
import { SIGNALS_SCHEMA } from './schema.ts';
import { prepareSpan, writeGroup } from './write-group.ts';

/** While the server works on one, the service reads the answers for another, or puts it together. */
const GROUPS_AT_ONCE = 2;

/** Joins the units that wait into one transaction, so that one commit serves many. */
export const createSignalWriter = (
  { transaction }: Database,
  clock: () => UnixNano,
  late: Omit<LateTotals, 'stop'>,
): JoinedWrites => {
  let known: ProjectNumbers = new Map();
  return joinWrites({
    store: SIGNALS_SCHEMA.store,
    prepare: prepareSpan,
    write: async (group) => {
      const written = await transaction((within) => writeGroup(within, group, known, clock(), late));
      if (written.late.length > 0) late.wake(written.late);
      known = written.known;
      return written.outcomes;
    },
    atOnce: GROUPS_AT_ONCE,
    isOfOne: isOfValues,
  });
};
