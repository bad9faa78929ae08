import { RUNS_SCHEMA } from '../../store/postgres/runs/schema.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import { databaseOf } from '../config.ts';
import { mendOf } from './database.ts';
import type { Examined, RunReads } from './deployment.ts';
import { counted, type Finding, fault, ok, skipped, warning } from './finding.ts';
import { judgeMove } from './moves.ts';
import { runReadsOf } from './run-reads.ts';
import { judgeServices } from './services.ts';

/** How far the clocks of services and of the database may differ before `doctor` warns: up to this, the times of a run stay in order. */
export const CLOCK_OFFSET_MS = 1_000;

/**
 * Who owns the runs.
 * @param leftMs of each owner, how long it still owns its part
 * @param shards into how many the runs are cut
 */
export const judgeOwners = (
  owners: readonly { readonly owner: string; readonly leftMs: number }[],
  shards: number,
): Finding => {
  const live = owners.filter(({ leftMs }) => leftMs > 0);
  if (owners.length === 0) return skipped('no service has owned the runs yet; the first start takes them');
  const which = shards === 1 ? 'the runs' : `the runs of ${shards - live.length} of ${shards} shards`;
  if (live.length < shards)
    return warning(
      `no service owns ${which}: nothing moves them`,
      'start a service with this --runs-url; where one runs, its log tells why it does not take them',
    );
  const services = counted(new Set(live.map(({ owner }) => owner)).size, 'service');
  return ok(`the runs ${shards === 1 ? '' : `in ${shards} shards `}are owned by ${services}`);
};

/** How far the clock of this machine is from that of the database. */
export const judgeClock = (hereAt: number, databaseAt: number): Finding => {
  const offset = Math.round(hereAt - databaseAt);
  const what = `the clock of this machine is ${Math.abs(offset)} ms ${offset < 0 ? 'behind' : 'ahead of'} that of the database`;
  if (Math.abs(offset) <= CLOCK_OFFSET_MS) return ok(what);
  return warning(
    `${what}: after a takeover, runs show times in another order than things happened`,
    'keep the clocks of all machines together (NTP)',
  );
};

const judgeSchema = (found: number): Finding | undefined => {
  const known = RUNS_SCHEMA.steps.at(-1)?.version ?? 0;
  if (found === 0) return skipped('the tables of the runs are not there yet; the first start makes them');
  if (found > known)
    return fault(
      `the database has schema version ${found} of the runs, and this release knows ${known}`,
      'run the release that wrote it; nothing was changed',
    );
  if (found === known) return undefined;
  return warning(
    `the next start brings the runs from schema version ${found} to ${known}; no older release reads them then`,
    'back the database up first',
  );
};

/** Examines the durable runs of a database, without writing a row. */
export const openRunsDatabase = async (
  url: string,
): Promise<Examined<RunReads> & { readonly close: () => Promise<void> }> => {
  const why = 'the runs store could not be read';
  const { inspectRunsDatabase } = await import('../../store/postgres/runs/inspect.ts');
  try {
    const { schemaVersion, services, found, close } = await inspectRunsDatabase(url);
    const answers = ok(`${databaseOf(url)} answers: schema version ${schemaVersion} of the runs`);
    const ofSchema = judgeSchema(schemaVersion);
    if (found === undefined)
      return { findings: [answers, ...(ofSchema === undefined ? [] : [ofSchema])], unread: why, close };
    return {
      findings: [
        answers,
        ...judgeServices(services),
        ...judgeMove(found.moved),
        judgeOwners(found.owners, found.shards),
        judgeClock(found.hereAt, found.databaseAt),
      ],
      reads: runReadsOf(found.reads),
      close,
    };
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const code = error.cause instanceof Error && 'code' in error.cause ? String(error.cause.code) : '';
    return { findings: [fault(error.message, mendOf(code))], unread: why, close: async () => {} };
  }
};
