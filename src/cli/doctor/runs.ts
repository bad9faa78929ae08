import type { PausedWork } from '../../actors/definition/paused-work.ts';
import type { IdleSchedule } from '../../actors/schedule/idle-schedules.ts';
import { SERVICE } from '../../model/definition/owner.ts';
import type { UnixMs } from '../../model/run.ts';
import type { SkipReason } from '../../model/schedule/schedule.ts';
import { formatTimestamp, millisFromUnixNano, unixNanoFromMillis } from '../../model/time.ts';
import type { Look, PinnedVersion, RegisteredWorker, RunReads } from './deployment.ts';
import { counted, type Finding, fault, listed, ok, skipped, warning } from './finding.ts';
import { quoted } from '../printable.ts';
import { examineRunsDoor } from './keys.ts';

/** A worker claims again within half a minute and beats every few seconds; one that was silent for longer is gone. */
const SILENT_MS = 120_000;

const holds = (worker: RegisteredWorker, { owner, id, version }: PinnedVersion): boolean =>
  worker.owner === owner && worker.definitions.some((held) => held.id === id && held.version === version);

/** Open runs that wait for a version that no worker serves. */
const examinePinned = async (reads: RunReads, nowMs: number): Promise<Finding[]> => {
  const [pinned, workers] = await Promise.all([reads.pinnedVersions(), reads.workers()]);
  return pinned
    .filter(({ openRuns }) => openRuns > 0)
    .map((version): Finding => {
      const { owner, id, openRuns } = version;
      const whose = owner === SERVICE ? '' : ` of project ${quoted(owner)}`;
      const what = `${quoted(id)} version ${version.version}${whose}, which ${counted(openRuns, 'open durable run')} ${openRuns === 1 ? 'is' : 'are'} pinned to`;
      const holders = workers.filter((worker) => holds(worker, version));
      const mend = `start a worker that registers ${id} version ${version.version}${whose === '' ? '' : ' with a key of that project'}`;
      if (holders.length === 0) return warning(`no worker has registered ${what}`, mend);
      if (holders.every(({ lastSeenAt }) => lastSeenAt === undefined))
        return skipped(
          `${counted(holders.length, 'worker')} registered ${what}; whether one lives, only the running service knows (GET /v1/api/doctor)`,
        );
      const isLive = holders.some(({ lastSeenAt }) => lastSeenAt !== undefined && nowMs - lastSeenAt <= SILENT_MS);
      if (isLive) return ok(`a live worker holds ${what}`);
      return warning(`no live worker holds ${what}: those that registered it have been silent for two minutes`, mend);
    });
};

/** So long nothing moves of a key before it is named: steps of an hour are rare, and runs that wait for each other are not seen otherwise. */
const STALLED_MS = 60 * 60 * 1000;

/** Keys for which runs wait while nothing moves of those that hold them. */
const examineKeys = async (reads: RunReads, nowMs: number): Promise<Finding[]> => {
  const stalled = await reads.stalledKeys(nowMs - STALLED_MS);
  return stalled.map(({ limitId, project, definitionId, stepId, waiting, movedAt }) => {
    const whose = `${definitionId}${stepId === undefined ? '' : `, step ${stepId},`} in project ${project}`;
    const hours = Math.floor((nowMs - movedAt) / STALLED_MS);
    return warning(
      `${counted(waiting, 'durable run')} ${waiting === 1 ? 'waits' : 'wait'} for a key of ${whose} of which nothing has moved for ${counted(hours, 'hour')}`,
      `npx svc actors limit ${limitId} names its holders: see what they wait for; where they wait for runs that wait for this key, cancel one`,
    );
  });
};

const moment = (at: UnixMs): string => formatTimestamp(unixNanoFromMillis(at));

/** What to do about a schedule that skips its times, by the reason of the last one. */
const skipMends: Readonly<Record<SkipReason, (id: string) => string>> = {
  missed: () => 'keep the service running at its times, or let catch_up fire those that were missed',
  paused: () => 'nothing: its times are skipped while it is paused',
  catch_up_window: () => 'keep the service running at its times, or raise catch_up_window_ms',
  overlap: (id) =>
    `npx svc schedules ${id} names the run that is open: see what it waits for, or choose another overlap`,
  definition_unknown: () => 'store the definition that it starts, or name another in the schedule',
  input_invalid: () => 'give the schedule an input that the schema of its definition takes',
  already_started: () => 'nothing: its times have their runs already',
  limit_reached: () =>
    'npx svc actors limit names the runs that hold the key: see what they wait for, raise the limit, or let on_limit queue',
  refused: (id) => `npx svc schedules trigger ${id} starts a run at once, and POST /v1/api/runs says why it is refused`,
};

/** Schedules of which nobody gets what they were made for. */
const examineSchedules = async (reads: RunReads, nowMs: number): Promise<Finding[]> =>
  (await reads.idleSchedules(nowMs)).map(({ id, project, idle }: IdleSchedule): Finding => {
    const name = `schedule ${quoted(id)} of project ${quoted(project)}`;
    return idle.kind === 'never_fired'
      ? warning(
          `${name} has never fired, though it was due at ${moment(idle.dueAt)}`,
          'start the service; where it runs, see its log and /readyz for what keeps timers from it',
        )
      : warning(
          `${name} started no run at its last ${counted(idle.skipped, 'time')}, since ${moment(idle.since)}: the newest was skipped as ${idle.reason}`,
          skipMends[idle.reason](id),
        );
  });

/** Definitions that somebody paused, and whose runs wait for somebody to resume them. */
const examinePauses = async (reads: RunReads): Promise<Finding[]> =>
  (await reads.pausedWork()).map(({ owner, id, since, reason, runs, isMore }: PausedWork): Finding => {
    const whose = owner === SERVICE ? '' : ` of project ${quoted(owner)}`;
    const why = reason === undefined ? '' : ` (${quoted(reason)})`;
    return warning(
      `definition ${quoted(id)}${whose} is paused since ${moment(since)}${why}, and ${isMore ? 'at least ' : ''}${counted(runs, 'queued run')} ${runs === 1 ? 'waits' : 'wait'} for it`,
      `npx svc definitions resume ${id}${owner === SERVICE ? '' : ` --project ${owner}`} lets ${runs === 1 ? 'it' : 'them'} go on`,
    );
  });

/** The runs store, what is in it, and whether its doors need a key. Reads alone. */
export const examineRuns = async (look: Look): Promise<Finding[]> => {
  const { runs, settings, now } = look;
  if (settings.runsData === undefined) return [skipped('durable runs are off (--runs-data off)')];
  const findings: Finding[] = [...runs.findings];
  if ('reads' in runs) {
    const { definitionVersions, openRuns, quarantined } = await runs.reads.counts();
    findings.push(
      ok(`${counted(definitionVersions, 'definition version')}, ${counted(openRuns, 'durable run')} in progress`),
    );
    if (quarantined > 0)
      findings.push(
        fault(
          `${counted(quarantined, 'actor')} quarantined: this release cannot load ${quarantined === 1 ? 'it' : 'them'}, and the durable runs stand still`,
          'GET /v1/api/actors?status=quarantined names them, and GET /v1/api/runs/{run} says why: start the release that wrote them, or, where a row is damaged, put a backup in place of the file',
        ),
      );
    const stuck = await runs.reads.stuckRuns();
    if (stuck.length > 0)
      findings.push(
        fault(
          `${counted(stuck.length, 'durable run')} that nothing will ever move: ${listed(stuck.map(({ runId }) => runId))}`,
          'cancel them (POST /v1/api/runs/{run}/cancel) and report it: there must be none',
        ),
      );
    findings.push(...(await examineKeys(runs.reads, millisFromUnixNano(now))));
    findings.push(...(await examineSchedules(runs.reads, millisFromUnixNano(now))));
    findings.push(...(await examinePauses(runs.reads)));
    findings.push(...(await examinePinned(runs.reads, millisFromUnixNano(now))));
  }
  return [...findings, examineRunsDoor(look)];
};
