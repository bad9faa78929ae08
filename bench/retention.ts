/**
 * Erasures in a large file, and the retention of a tenth of it while spans come in. The file is that of
 * `node bench/million.ts 1000000 0 FOLDER`, with 30 days of traces; what is erased is gone from it.
 * Run: `node bench/retention.ts FOLDER [seconds after the retention began]`.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDaemon } from '../test/daemon.ts';
import { openForReading } from '../src/store/sqlite/connection.ts';
import { load, processorSeconds } from './serve.ts';

const [folder, seconds = '120'] = process.argv.slice(2);
if (folder === undefined) throw new Error('name the folder of a file that bench/million.ts kept');
const KEPT_DAYS = 27;
const SLICE_SECONDS = 10;
/** The first pass of the retention begins a minute after the start. */
const UNTIL_FIRST_PASS_MS = 60_000;

const path = join(folder, 'svc.db');
const db = openForReading(path, 16);
const traces = db
  .prepare<[], string>('SELECT trace_id FROM traces WHERE span_count = 10 ORDER BY start_ns DESC LIMIT 1000')
  .pluck()
  .all();
const countBefore = db.prepare<[bigint], number>('SELECT count(*) FROM traces WHERE start_ns < ?').pluck();
const boundary = BigInt(Date.now() - KEPT_DAYS * 86_400_000) * 1_000_000n;
const old = countBefore.get(boundary) ?? 0;

const started = performance.now();
const daemon = await startDaemon(folder, ['--retention-days', String(KEPT_DAYS)]);
const pid = daemon.process.pid ?? 0;
await sleep(3_000);
for (const count of [1, 1, 5, 20]) {
  const before = processorSeconds(pid);
  const from = performance.now();
  const answers = [];
  for (const traceId of traces.splice(0, count)) {
    const response = await fetch(`${daemon.url}/v1/api/traces/${traceId}`, { method: 'DELETE' });
    answers.push(((await response.json()) as { deletes_pending: boolean }).deletes_pending);
  }
  const ms = performance.now() - from;
  console.log(
    `${count} traces of ten spans deleted, one call each: ${ms.toFixed(0)} ms, processor ${((processorSeconds(pid) - before) * 1000).toFixed(0)} ms, ${answers.filter(Boolean).length} with bytes pending`,
  );
}
console.log(`${old} traces are older than ${KEPT_DAYS} days`);
const door = { encoding: 'protobuf', spansPerBody: 512, connections: 8, seconds: SLICE_SECONDS } as const;
const end = started + UNTIL_FIRST_PASS_MS + Number(seconds) * 1000;
while (performance.now() < end) {
  const { signalsPerSecond, p50Ms, p99Ms } = await load(folder, daemon.url, door);
  const at = ((performance.now() - started - UNTIL_FIRST_PASS_MS) / 1000).toFixed(0);
  console.log(
    `${at.padStart(4)} s after the pass began: ${Math.round(signalsPerSecond)} spans/s, answers p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms; ${countBefore.get(boundary)} old traces left`,
  );
}
db.close();
await daemon.stop();
