import type { components } from '../../model/generated/openapi.ts';
import { formatTimestamp } from '../../model/time.ts';
import type { AuditEntry } from '../../store/signals/query.ts';

/** @see Interface decisions, "3. Keys and scopes", Audit */
export const auditEntryToWire = (entry: AuditEntry): components['schemas']['AuditEntry'] =>
  ({
    audit_id: entry.auditId,
    at: formatTimestamp(entry.at),
    operation: entry.operation,
    project: entry.project,
    subject: entry.subject,
    key_fingerprint: entry.keyFingerprint,
    remote_address: entry.remoteAddress,
    resource: entry.resource,
    outcome: entry.outcome,
  }) as components['schemas']['AuditEntry'];
