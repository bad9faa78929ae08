import type { Sharing } from '../../signals/sharing.ts';
import { storable } from '../../signals/storable.ts';
import type { Database } from '../connection.ts';
import { signalKey } from './keys.ts';

/** Minutes for which a window of a ceiling is kept: clocks of services may differ a little. */
const KEPT_MINUTES = 5;

/** Rows that services on one database agree by. @see Sharing */
export const sharingOver = ({ ask, transaction }: Database): Sharing => ({
  holdDuty: (duty, holder, forMs) =>
    transaction(async (within) => {
      const held = await within(
        `INSERT INTO duties AS d (duty, holder, expires_at) VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
         ON CONFLICT (duty) DO UPDATE SET holder = excluded.holder, expires_at = clock_timestamp() + $3 * interval '1 ms'
           WHERE d.holder = excluded.holder OR d.expires_at <= clock_timestamp()
         RETURNING 1`,
        [duty, holder, forMs],
      );
      return held.length > 0;
    }),
  endDuty: async (duty, holder) => {
    await transaction((within) => within('DELETE FROM duties WHERE duty = $1 AND holder = $2', [duty, holder]));
  },

  reported: async () => new Map(await ask<[string, string]>('SELECT subject, condition FROM reported_conditions')),
  noteReported: async (subject, condition) => {
    await transaction((within) =>
      within(
        `INSERT INTO reported_conditions (subject, condition, at) VALUES ($1, $2, now())
         ON CONFLICT (subject) DO UPDATE SET condition = excluded.condition, at = excluded.at`,
        [storable(subject), condition],
      ),
    );
  },

  reserveSignals: (project, minute, wanted, ceiling) =>
    transaction(async (within) => {
      const key = signalKey(storable(project));
      const begun = await within(
        'INSERT INTO quota_windows (project, minute, taken) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING RETURNING 1',
        [key, minute],
      );
      const [[taken] = [0n]] = await within<[bigint]>(
        'SELECT taken FROM quota_windows WHERE project = $1 AND minute = $2 FOR UPDATE',
        [key, minute],
      );
      const granted = Math.max(0, Math.min(wanted, ceiling - Number(taken)));
      if (granted > 0)
        await within('UPDATE quota_windows SET taken = taken + $3 WHERE project = $1 AND minute = $2', [
          key,
          minute,
          granted,
        ]);
      if (begun.length > 0)
        await within(
          `DELETE FROM quota_windows WHERE (project, minute) IN (
             SELECT project, minute FROM quota_windows WHERE minute < $1 FOR UPDATE SKIP LOCKED)`,
          [minute - KEPT_MINUTES],
        );
      return granted;
    }),
});
