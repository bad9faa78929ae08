import { randomUUID } from 'node:crypto';
import type { Sharing } from '../../signals/sharing.ts';
import { storable } from '../../signals/storable.ts';
import type { Database, Written } from '../connection.ts';
import type { Versions } from './versions.ts';

const DUTIES: Written = {
  table: 'duty_claims',
  columns: [
    ['duty', 'String'],
    ['holder', 'String'],
    ['for_ms', 'Int64'],
  ],
};
const QUOTAS: Written = {
  table: 'quota_claims',
  columns: [
    ['project', 'String'],
    ['minute', 'Int64'],
    ['claim', 'String'],
    ['wanted', 'Int64'],
    ['ceiling', 'Int64'],
  ],
};
const REPORTED: Written = {
  table: 'reported_conditions',
  columns: [
    ['subject', 'String'],
    ['condition', 'String'],
    ['version', 'UInt64'],
  ],
};

/** Claims of a duty after which those that count no more are removed. */
const MANY_CLAIMS = 256;

type Claim = readonly [holder: string, forMs: string, atMs: string, block: string];
type Held = { readonly holder: string; readonly untilMs: number; readonly block: string };

/** The holder of a duty after these claims, which are in their order. A claim with a time of zero gives the duty back. */
const holderAfter = (claims: readonly Claim[]): Held | undefined => {
  let held: Held | undefined;
  for (const [holder, forMs, atMs, block] of claims) {
    const at = Number(atMs);
    if (held !== undefined && held.holder !== holder && held.untilMs > at) continue;
    if (Number(forMs) > 0) held = { holder, untilMs: at + Number(forMs), block };
    else if (held?.holder === holder) held = undefined;
  }
  return held;
};

/** A service whose last claim is older is not there any more, in milliseconds. */
const GONE_MS = 60_000;

/** The first block of which a claim counts, or is the last of a service that is there: `doctor` counts services by those. */
const oldestNeeded = (claims: readonly Claim[], held: Held): string => {
  const now = Number(claims.at(-1)?.[2] ?? 0);
  const last = new Map(claims.map(([holder, , atMs, block]) => [holder, { atMs: Number(atMs), block: BigInt(block) }]));
  let oldest = BigInt(held.block);
  for (const { atMs, block } of last.values()) if (atMs > now - GONE_MS && block < oldest) oldest = block;
  return String(oldest);
};

/**
 * What services on one database agree by. ClickHouse locks nothing, but numbers the blocks of a table in the order in which they are seen:
 * each service adds what it wants, reads all that was added before, and all come to the same end.
 * @see Sharing
 */
export const sharingOver = ({ ask, insert, run }: Database, versions: Versions): Sharing => ({
  holdDuty: async (duty, holder, forMs) => {
    await insert(DUTIES, [[duty, holder, Math.max(1, Math.ceil(forMs))]]);
    const claims = await ask<Claim>(
      `SELECT holder, for_ms, toUnixTimestamp64Milli(at), _block_number FROM duty_claims WHERE duty = {duty:String}
       ORDER BY _block_number`,
      { duty },
    );
    const held = holderAfter(claims);
    if (held?.holder === holder && claims.length > MANY_CLAIMS)
      await run('ALTER TABLE duty_claims DELETE WHERE duty = {duty:String} AND _block_number < {block:UInt64}', {
        duty,
        block: oldestNeeded(claims, held),
      });
    return held?.holder === holder;
  },
  endDuty: async (duty, holder) => {
    await insert(DUTIES, [[duty, holder, 0]]);
  },

  reported: async () =>
    new Map(await ask<[string, string]>('SELECT subject, condition FROM reported_conditions FINAL')),
  noteReported: (subject, condition) => insert(REPORTED, [[storable(subject), condition, versions.take()]]),

  reserveSignals: async (project, minute, wanted, ceiling) => {
    const claim = randomUUID();
    await insert(QUOTAS, [[storable(project), minute, claim, wanted, ceiling]]);
    const claims = await ask<[claim: string, wanted: string, ceiling: string]>(
      `SELECT claim, wanted, ceiling FROM quota_claims WHERE minute = {minute:Int64} AND project = {project:String} ORDER BY _block_number`,
      { minute, project: storable(project) },
    );
    let taken = 0;
    const counted = new Set<string>();
    for (const [of, some, most] of claims) {
      // An insert whose answer was lost came again.
      if (counted.has(of)) continue;
      counted.add(of);
      const granted = Math.max(0, Math.min(Number(some), Number(most) - taken));
      taken += granted;
      if (of === claim) return granted;
    }
    return 0;
  },
});
