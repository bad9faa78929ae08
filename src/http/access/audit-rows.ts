import type { FastifyRequest } from 'fastify';
import { newRecordId } from '../../model/ids.ts';
import type { UnixNano } from '../../model/time.ts';
import type { AuditEntry } from '../../store/signals/query.ts';
import type { AuditLog } from './audit-log.ts';

/** Appends what a request did, or was refused, to the audit log: a row for each project of its `request.audit`. */
export type WriteAudit = (request: FastifyRequest, operation: string, outcome: AuditEntry['outcome']) => void;

export const createWriteAudit =
  (audit: Pick<AuditLog, 'append'>, clock: () => UnixNano): WriteAudit =>
  (request, operation, outcome) => {
    const { keyFingerprint, subject, remoteAddress } = request.caller;
    for (const project of request.audit.projects)
      audit.append({
        auditId: newRecordId(),
        at: clock(),
        operation,
        project,
        ...(subject === undefined ? {} : { subject }),
        ...(keyFingerprint === undefined ? {} : { keyFingerprint }),
        remoteAddress,
        resource: request.audit.resource,
        outcome,
      });
  };
