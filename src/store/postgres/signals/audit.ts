import type { UnixNano } from '../../../model/time.ts';
import type { AuditEntry } from '../../signals/query.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { decodeAudit, encodeAudit } from '../../signals/rows/decode-records.ts';
import type { SignalStore } from '../../signals/signal-store.ts';
import { isStorable, storable } from '../../signals/storable.ts';
import { textArray } from '../arrays.ts';
import type { Database } from '../connection.ts';
import { type Columns, columns, insertInto } from '../insert.ts';
import { signalKey } from './keys.ts';
import { conditionsOf, readRecords, type RecordTable } from './record-page.ts';

export const AUDIT: RecordTable = {
  from: 'audit AS r',
  key: 'entry',
  columns:
    'r.audit_id, r.at_ns, r.operation, r.project, r.subject, r.key_fingerprint, r.remote_address, r.resource, r.outcome',
};
export const AUDIT_COLUMNS: Columns = [
  ['audit_id', 'text'],
  ['at_ns', 'int8'],
  ...columns('text', 'operation project subject key_fingerprint remote_address resource outcome'),
];

/** The columns of `AUDIT_COLUMNS`. */
export const auditRow = (entry: AuditEntry): Row =>
  encodeAudit(entry).map((value) => (typeof value === 'string' ? storable(value) : value));

/** The audit log. @see SignalStore.appendAudit */
export const auditLog = ({ ask, transaction }: Database): Pick<SignalStore, 'appendAudit' | 'listAudit'> => ({
  appendAudit: async (entries) => {
    if (entries.length === 0) return;
    await transaction((within) => within(...insertInto('audit', AUDIT_COLUMNS, entries.map(auditRow))));
  },
  listAudit: async (query) => {
    if (![query.operation, query.subject].every((text) => text === undefined || isStorable(text))) return { items: [] };
    const conditions = conditionsOf();
    if (query.projects !== 'all') {
      const names = query.projects.filter(isStorable);
      conditions.add('signal_key(r.project) = ANY ($::text[])', textArray(names.map(signalKey)));
      conditions.add('r.project = ANY ($::text[])', textArray(names));
    }
    conditions.add('r.operation = $', query.operation);
    conditions.add('r.subject = $', query.subject);
    return readRecords(ask, AUDIT, decodeAudit, query, 'desc', conditions);
  },
});

/** Rows that one statement removes, at the most, so that none of them takes long. */
const SLICE = 5_000;

/** Removes audit rows and ingest keys older than their boundaries, in slices. */
export const trimRecords = async (
  { transaction }: Database,
  auditBefore: UnixNano,
  ingestKeysBefore: UnixNano,
): Promise<void> => {
  for (const [table, key, before] of [
    ['audit', 'entry', auditBefore],
    ['ingest_keys', 'ingest_key', ingestKeysBefore],
  ] as const)
    for (let gone = SLICE; gone === SLICE; ) {
      const removed = await transaction((within) =>
        within(
          `DELETE FROM ${table} WHERE ${key} IN (
             SELECT ${key} FROM ${table} WHERE at_ns < $1 ORDER BY at_ns LIMIT ${SLICE} FOR UPDATE SKIP LOCKED
           ) RETURNING 1`,
          [before],
        ),
      );
      gone = removed.length;
    }
};
