import { EARLIEST_PLAUSIBLE } from '../../ingest/doubtful-times.ts';
import { formatTimestamp, type UnixNano, unixNanoFromMillis } from '../../model/time.ts';
import type { Order, StoredSpan } from '../../store/signals/query.ts';
import { type Look, NANOS_PER_SECOND, type SignalReads } from './deployment.ts';
import { counted, type Finding, fault, ok, skipped, warning } from './finding.ts';
import { quoted } from '../printable.ts';

/** Clocks of machines that are set by the network agree to well within this. */
const TOLERANCE = 300n * NANOS_PER_SECOND;
const BY_NETWORK = 'set the clock of this machine by the network (NTP)';
/** Projects that are looked at, busiest first by name; each costs three short reads. */
const MOST_PROJECTS = 1000;

const apart = (nanos: bigint): string => {
  const seconds = Number(nanos / NANOS_PER_SECOND);
  if (seconds < 7200) return counted(Math.round(seconds / 60), 'minute');
  return seconds < 172_800 ? counted(Math.round(seconds / 3600), 'hour') : counted(Math.round(seconds / 86_400), 'day');
};

const endOf = async (
  reads: SignalReads,
  project: string,
  order: Order,
  from?: UnixNano,
): Promise<StoredSpan | undefined> => {
  const { items } = await reads.listSpans({
    projects: [project],
    order,
    limit: 1,
    payloads: false,
    ...(from === undefined ? {} : { from }),
  });
  return items[0];
};

const examineProject = async (reads: SignalReads, project: string, { now, from }: Look): Promise<Finding[]> => {
  const [newest, oldest, oldestLately] = await Promise.all([
    endOf(reads, project, 'desc'),
    endOf(reads, project, 'asc'),
    endOf(reads, project, 'asc', from),
  ]);
  const name = quoted(project);
  const findings: Finding[] = [];
  const lately = [newest, oldestLately].filter((span) => span !== undefined);
  const received = lately.find(({ receivedAt }) => receivedAt > now + TOLERANCE);
  if (received !== undefined)
    findings.push(
      fault(
        `${name} holds a span received at ${formatTimestamp(received.receivedAt)}, ${apart(received.receivedAt - now)} after this machine's time ${formatTimestamp(now)}: its clock was or is wrong`,
        BY_NETWORK,
      ),
    );
  if (newest !== undefined && newest.startTime > now + TOLERANCE)
    findings.push(
      warning(
        `the newest trace of ${name} starts at ${formatTimestamp(newest.startTime)}, ${apart(newest.startTime - now)} after this machine's time`,
        "set the sender's clock, and this machine's, by the network (NTP)",
      ),
    );
  else {
    const early = lately.find(({ startTime, receivedAt }) => startTime > receivedAt + TOLERANCE);
    if (early !== undefined)
      findings.push(
        warning(
          `${name} holds a span that started ${apart(early.startTime - early.receivedAt)} after it was received`,
          "set the sender's clock by the network (NTP)",
        ),
      );
  }
  if (oldest !== undefined && oldest.startTime < EARLIEST_PLAUSIBLE)
    findings.push(
      warning(
        `the oldest trace of ${name} is of ${formatTimestamp(oldest.startTime)}: a sender takes seconds or milliseconds for nanoseconds, or its clock is not set`,
        'correct the sender; DELETE /v1/api/traces/{trace_id} removes the trace',
      ),
    );
  return findings;
};

/** How this machine's clock was set while the service ran, and durable runs that say a time that has not come. */
const examineSetting = async ({ clockJumps, runs, now }: Look): Promise<Finding[]> => {
  const findings: Finding[] = [];
  const newest = clockJumps?.last.at(-1);
  if (clockJumps !== undefined && newest !== undefined)
    findings.push(
      warning(
        `the clock of this machine was set by more than five seconds ${counted(clockJumps.count, 'time')} since the service started, last from ${formatTimestamp(unixNanoFromMillis(newest.from))} to ${formatTimestamp(unixNanoFromMillis(newest.to))}`,
        BY_NETWORK,
      ),
    );
  const changedAt = 'reads' in runs ? await runs.reads.newestChange() : undefined;
  const changed = changedAt === undefined ? undefined : unixNanoFromMillis(changedAt);
  if (changed !== undefined && changed > now + TOLERANCE)
    findings.push(
      fault(
        `a durable run changed at ${formatTimestamp(changed)}, ${apart(changed - now)} after this machine's time ${formatTimestamp(now)}: its clock was or is wrong`,
        BY_NETWORK,
      ),
    );
  return findings;
};

/** Traces at both ends of each project's history. */
const examineTraces = async (look: Look): Promise<Finding[]> => {
  const { signals } = look;
  if ('unread' in signals) return [skipped(signals.unread)];
  const holding = (await look.projects(signals.reads)).filter(({ traceCount }) => traceCount > 0);
  if (holding.length === 0) return [skipped('no trace is stored to compare this clock with')];
  const examined = holding.slice(0, MOST_PROJECTS);
  const findings: Finding[] = [];
  for (const { project } of examined) findings.push(...(await examineProject(signals.reads, project, look)));
  if (findings.length === 0)
    findings.push(ok(`traces at both ends of ${counted(examined.length, 'project')} agree with this machine's clock`));
  if (examined.length < holding.length)
    findings.push(skipped(`${counted(holding.length - examined.length, 'further project')} were not looked at`));
  return findings;
};

/** This machine's clock: how it was set, and against it what is stored, with traces at both ends of each project's history. */
export const examineClock = async (look: Look): Promise<Finding[]> => [
  ...(await examineTraces(look)),
  ...(await examineSetting(look)),
];
