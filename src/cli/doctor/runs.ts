import { SERVICE } from '../../model/definition/owner.ts';
import { millisFromUnixNano } from '../../model/time.ts';
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
    findings.push(...(await examinePinned(runs.reads, millisFromUnixNano(now))));
  }
  return [...findings, examineRunsDoor(look)];
};
