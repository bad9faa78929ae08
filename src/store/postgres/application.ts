import { randomUUID } from 'node:crypto';

/** How services call themselves in `pg_stat_activity`. */
export const SERVICES = 'svc/';
/** What this process calls itself there. A service asks at least each few seconds, so one of its connections is always there. */
export const SERVICE = `${SERVICES}${randomUUID().slice(0, 13)}`;
/** What a look from outside calls itself there. */
export const VISITOR = 'svc-visitor';
