import type { UnixNano } from '../../../model/time.ts';
import { decodeAudit, encodeAudit } from '../../signals/rows/decode-records.ts';
import type { SignalStore } from '../../signals/signal-store.ts';
import { storable } from '../../signals/storable.ts';
import type { Database } from '../connection.ts';
import type { ValueRow } from '../row-binary.ts';
import { listByTime, type RecordTable } from './record-page.ts';
import { AUDIT, INGEST_KEYS } from './tables.ts';
import { type Versions, VERSION_STEP } from './versions.ts';

const LIVES = 0;
export const ENTRIES: RecordTable = {
  of: AUDIT,
  ties: ['row'],
  columns:
    'r.audit_id, r.at_ns, r.operation, r.project, r.subject, r.key_fingerprint, r.remote_address, r.resource, r.outcome',
};

/** The audit log. @see SignalStore.appendAudit */
export const auditLog = (
  { ask, insert }: Database,
  versions: Versions,
): Pick<SignalStore, 'appendAudit' | 'listAudit'> => ({
  appendAudit: async (entries) => {
    if (entries.length === 0) return;
    const first = versions.take(entries.length);
    await insert(
      AUDIT,
      entries.map((entry, place): ValueRow => {
        const row = encodeAudit(entry).map((value) => (typeof value === 'string' ? storable(value) : value));
        return [...row, first + VERSION_STEP * BigInt(place), first, LIVES];
      }),
    );
  },
  listAudit: (query) =>
    listByTime(ask, ENTRIES, query, 'desc', decodeAudit, ({ add }) => {
      add('r.operation =', query.operation, 'String');
      add('r.subject =', query.subject, 'String');
    }),
});

/** Removes audit rows and ingest keys older than their boundaries; their bytes go when parts are merged. */
export const trimRecords = async (
  { ask, run }: Database,
  auditBefore: UnixNano,
  ingestKeysBefore: UnixNano,
): Promise<void> => {
  for (const [{ table }, before] of [
    [AUDIT, auditBefore],
    [INGEST_KEYS, ingestKeysBefore],
  ] as const) {
    const old = await ask(`SELECT 1 FROM ${table} WHERE at_ns < {before:Int64} LIMIT 1`, { before });
    if (old.length > 0) await run(`DELETE FROM ${table} WHERE at_ns < {before:Int64}`, { before });
  }
};
