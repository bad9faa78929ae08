/**
 * What each hostile body of at most 1 MiB costs the daemon: processor time of all its threads, and how far its memory
 * rises above what it held before.
 * Run: `node bench/hostile-bodies.ts [part of a name]`; Linux alone, as it reads /proc.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDaemon } from '../test/daemon.ts';
import { hostileBodies } from '../test/ingest/hostile-bodies.ts';
import { benchFolder, processorSeconds } from './serve.ts';

/** What an answer leaves behind (the index, a checkpoint) is done by then. */
const SETTLE_MS = 600;
const WARM_UP_ROUNDS = 6;

const kibibytes = (pid: number, name: 'VmHWM' | 'VmRSS'): number =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');

const wanted = process.argv[2] ?? '';
const bodies = hostileBodies.filter(({ name, path }) => `${path} ${name}`.includes(wanted));
const honest = hostileBodies.filter(({ answer }) => answer === 200);

const folder = benchFolder();
const daemon = await startDaemon(folder.path, ['--runs-data', 'off']);
const pid = daemon.process.pid ?? 0;
try {
  const send = (body: (typeof bodies)[number], bytes: Buffer): Promise<Response> =>
    fetch(daemon.url + body.path, {
      method: 'POST',
      headers: { 'content-type': body.contentType, ...(body.gzip ? { 'content-encoding': 'gzip' } : {}) },
      body: new Uint8Array(bytes),
    });
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1)
    for (const body of honest) await (await send(body, body.make())).arrayBuffer();
  await sleep(SETTLE_MS);
  console.log('| Body | Sent, bytes | Answer | Processor, s | Memory, MB |\n|---|---|---|---|---|');
  for (const body of bodies) {
    const bytes = body.make();
    forgetPeak(pid);
    const residentBefore = kibibytes(pid, 'VmRSS');
    const processorBefore = processorSeconds(pid);
    const answer = await send(body, bytes);
    const text = await answer.text();
    await sleep(SETTLE_MS);
    const seconds = processorSeconds(pid) - processorBefore;
    const megabytes = ((kibibytes(pid, 'VmHWM') - residentBefore) * 1024) / 1e6;
    const mark = seconds > 0.5 || megabytes > 100 ? ' **over**' : '';
    console.log(
      `| ${body.path} ${body.name} | ${bytes.length} | ${answer.status}${answer.status === body.answer ? '' : ` (not ${body.answer}: ${text.slice(0, 80)})`} | ${seconds.toFixed(2)} | ${megabytes.toFixed(0)}${mark} |`,
    );
  }
} finally {
  await daemon.stop();
  folder.remove();
}
