/**
 * What each hostile body of at most 1 MiB costs the daemon: processor time of all its threads, also as a share of what the largest honest
 * batch costs in the same run, and how far its memory rises above what it held before. Each is sent some times, with traces of its own
 * each time.
 * Run: `node bench/hostile-bodies.ts [part of a name]`; Linux alone, as it reads /proc.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDaemon } from '../test/daemon.ts';
import { type HostileBody, hostileBodies, ofRound, sentInRound } from '../test/ingest/hostile-bodies.ts';
import { benchFolder, processorSeconds } from './serve.ts';

/** What an answer leaves behind (the index, a checkpoint) is done by then. */
const SETTLE_MS = 600;
const WARM_UP_ROUNDS = 6;
/** A body of a shape that V8 has not met costs more the first time: it compiles anew. */
const ROUNDS = 5;

const kibibytes = (pid: number, name: 'VmHWM' | 'VmRSS'): number =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');

const wanted = process.argv[2] ?? '';
const bodies = hostileBodies.filter(({ name, path }) => `${path} ${name}`.includes(wanted));
const taken = hostileBodies.filter(({ answer }) => answer === 200);
const honest = hostileBodies.find(({ name }) => name.endsWith('with 25 attributes of a pod'));
if (honest === undefined) throw new Error('there is no honest batch to compare with');

const before = { path: '/v1/ingest', contentType: 'application/json', gzip: false } as const;

const folder = benchFolder();
const daemon = await startDaemon(folder.path, ['--runs-data', 'off']);
const pid = daemon.process.pid ?? 0;
try {
  let round = 0;
  /** The body with traces of its own; what has to be there before it is stored. */
  const next = async (body: HostileBody): Promise<Buffer> => {
    round += 1;
    if (body.before !== undefined) await (await send(before, ofRound(body.before(), round))).arrayBuffer();
    return sentInRound(body, round);
  };
  const send = (body: Pick<HostileBody, 'path' | 'contentType' | 'gzip'>, bytes: Buffer): Promise<Response> =>
    fetch(daemon.url + body.path, {
      method: 'POST',
      headers: { 'content-type': body.contentType, ...(body.gzip ? { 'content-encoding': 'gzip' } : {}) },
      body: new Uint8Array(bytes),
    });
  // As in any service that judges: with a score in the file, each trace that comes is looked up among scores.
  const score = '{"scores":[{"trace_id":"a","scorer_id":"q","value":1,"min":0,"max":1,"source":"live"}]}';
  await (await send(before, Buffer.from(score))).arrayBuffer();
  for (let warmUp = 0; warmUp < WARM_UP_ROUNDS; warmUp += 1)
    for (const body of taken) await (await send(body, await next(body))).arrayBuffer();
  await sleep(SETTLE_MS);
  const measure = async (body: HostileBody) => {
    const seconds: number[] = [];
    let megabytes = 0;
    let sent = 0;
    let answered = '';
    for (let time = 0; time < ROUNDS; time += 1) {
      const bytes = await next(body);
      sent = bytes.length;
      if (body.before !== undefined) await sleep(SETTLE_MS);
      forgetPeak(pid);
      const residentBefore = kibibytes(pid, 'VmRSS');
      const processorBefore = processorSeconds(pid);
      const answer = await send(body, bytes);
      const text = await answer.text();
      await sleep(SETTLE_MS);
      seconds.push(processorSeconds(pid) - processorBefore);
      megabytes = Math.max(megabytes, ((kibibytes(pid, 'VmHWM') - residentBefore) * 1024) / 1e6);
      answered = `${answer.status}${answer.status === body.answer ? '' : ` (not ${body.answer}: ${text.slice(0, 80)})`}`;
    }
    const [first = 0] = seconds;
    return { sent, answered, first, median: seconds.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? 0, megabytes };
  };
  const ofHonest = (await measure(honest)).median;
  console.log(
    '| Body | Sent, bytes | Answer | Processor, s: median | first | of the largest honest batch | Memory, MB, at most |\n' +
      '|---|---|---|---|---|---|---|',
  );
  for (const body of bodies) {
    const { sent, answered, first, median, megabytes } = await measure(body);
    const mark = median > 0.5 || megabytes > 100 ? ' **over**' : '';
    console.log(
      `| ${body.path} ${body.name} | ${sent} | ${answered} | ${median.toFixed(2)} | ${first.toFixed(2)} | ` +
        `${Math.round((100 * median) / ofHonest)} % | ${megabytes.toFixed(0)}${mark} |`,
    );
  }
} finally {
  await daemon.stop();
  folder.remove();
}
