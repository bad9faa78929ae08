import type { ReportedUsage } from '../../src/model/run.ts';

export type Verb = 'started' | 'heartbeat' | 'complete' | 'fail';
/** A call on a lease, as its worker saw it. Without an answer it may have happened at any later time, or never. */
export type Call = {
  readonly verb: Verb;
  readonly errorClass?: string;
  readonly from: number;
  to?: number;
  /** `ok`, or the code of the refusal. */
  answer?: string;
};
/** What those who called know: kept outside of the service, and never wrong. */
export const createLedger = () => ({
  /** Run of each idempotency key that was acknowledged. */
  started: new Map<string, string>(),
  keysSent: new Set<string>(),
  leases: new Map<
    string,
    {
      readonly runId: string;
      readonly stepId: string;
      readonly visit: number;
      readonly delivery: string;
      readonly calls: Call[];
      usage?: readonly ReportedUsage[];
    }
  >(),
  /** Bodies that began, by run, step and visit. */
  bodies: new Map<string, number>(),
  /** Events sent, by key of the run meant, and the outcome where it was heard. */
  events: new Map<string, { readonly key: string; readonly outcome?: string; readonly runId?: string }>(),
  /** Runs whose cancel was acknowledged. */
  cancelled: new Set<string>(),
  /** Until when a lease was promised to its worker, and when that was said. */
  promises: new Map<string, { readonly at: number; readonly until: number }[]>(),
});
export type Ledger = ReturnType<typeof createLedger>;
