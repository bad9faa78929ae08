/**
 * Scoring 10,000 stored runs of eight spans with all thirteen deterministic scorers, in one request, against the mere reading
 * of the same runs. Run: `node --expose-gc bench/scoring.ts [runs]`. Prints runs a second of both, their ratio, and the memory of
 * the process by the quarters of the pass: a pass that kept what it read would grow by more than its answer.
 */
import { join } from 'node:path';
import { decodeTracesProtobuf } from '../src/ingest/otlp/protobuf.ts';
import { createAdmission } from '../src/ingest/admission.ts';
import { createPipeline } from '../src/ingest/pipeline.ts';
import { createQuota } from '../src/ingest/quota.ts';
import { createSampler } from '../src/ingest/sample.ts';
import { createCounters } from '../src/model/counters.ts';
import { nowUnixNano } from '../src/model/time.ts';
import { builtInScorers } from '../src/scoring/built-in.ts';
import { createScoring } from '../src/scoring/score-runs.ts';
import { openSqliteSignalStore } from '../src/store/sqlite/signals/open.ts';
import { median } from './pairs.ts';
import { benchFolder } from './serve.ts';
import { makeTraceBodies } from './spans.ts';

const RUNS = Number(process.argv[2] ?? 10_000);
const SPANS_A_RUN = 8;
const RUNS_A_BATCH = 64;
const QUARTERS = 4;
const HOUR_MS = 3_600_000;

const folder = benchFolder();
const store = await openSqliteSignalStore({ path: join(folder.path, 'svc.db') });
const counters = createCounters();
const pipeline = createPipeline({
  store,
  counters,
  limits: { maxBodyBytes: 32 << 20, maxInflatedBytes: 128 << 20, maxSignals: 10_000 },
  admission: createAdmission(256 << 20),
  defaultProject: 'default',
  sample: createSampler({ default: 1, projects: {} }),
  quota: createQuota({ projects: {} }),
  finish: { redaction: {} },
});

for (let run = 0; run < RUNS; run += RUNS_A_BATCH) {
  const runs = Math.min(RUNS_A_BATCH, RUNS - run);
  const { protobuf } = makeTraceBodies(runs * SPANS_A_RUN, run + 1);
  const { batch } = decodeTracesProtobuf(protobuf, {
    receivedAt: nowUnixNano(),
    defaultProject: 'default',
    maxSignals: 10_000,
  });
  await pipeline.write(batch, { quota: false, sample: false });
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
const heap = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

/** Every run, whole, as the pass reads them: newest first, four at a time. */
const readAll = async (): Promise<number> => {
  const from = performance.now();
  let runs = 0;
  let after: readonly (string | number)[] | undefined;
  do {
    const page = await store.listTraces({
      projects: ['default'],
      sort: 'start_time',
      order: 'desc',
      limit: 200,
      ...(after === undefined ? {} : { after }),
    });
    for (let at = 0; at < page.items.length; at += 4)
      runs += (
        await Promise.all(
          page.items.slice(at, at + 4).map(({ traceId }) => store.findTrace(traceId, ['default'], true)),
        )
      ).length;
    after = page.next;
  } while (after !== undefined);
  return runs / ((performance.now() - from) / 1000);
};

const scoreAll = async (dryRun: boolean): Promise<{ perSecond: number; written: number; quarters: number[] }> => {
  const quarters: number[] = [];
  let reads = 0;
  const scoring = createScoring({
    store: {
      listTraces: store.listTraces,
      findExpected: store.findExpected,
      findTrace: (traceId, reach, payloads) => {
        reads += 1;
        if (reads % Math.ceil(RUNS / QUARTERS) === 0) quarters.push(heap());
        return store.findTrace(traceId, reach, payloads);
      },
    },
    pipeline,
    clock: nowUnixNano,
    requestTimeoutSeconds: 30,
  });
  const from = performance.now();
  const { scoresWritten } = await scoring.score({
    project: 'default',
    limit: RUNS,
    scorers: builtInScorers.map(({ id }) => id),
    config: {
      expected: 'no refund is due',
      contains: 'refund',
      max_ms: 60_000,
      max_cost: 1,
      max_tool_calls: 5,
      span_kind: 'tool_call',
      tool_name: 'lookup',
    },
    dryRun,
    remainingMs: () => HOUR_MS,
  });
  return { perSecond: RUNS / ((performance.now() - from) / 1000), written: scoresWritten, quarters };
};

await readAll(); // warm
const before = heap();
const reading: number[] = [];
const dry: number[] = [];
const scored: Awaited<ReturnType<typeof scoreAll>>[] = [];
for (let pair = 0; pair < 3; pair += 1) {
  reading.push(await readAll());
  dry.push((await scoreAll(true)).perSecond);
  scored.push(await scoreAll(false));
}
const perSecond = median(scored.map((pass) => pass.perSecond));
console.log(
  `${RUNS} runs of ${SPANS_A_RUN} spans, ${builtInScorers.length} scorers, ${scored[0]?.written} scores written a pass`,
);
console.log(`reading alone        ${median(reading).toFixed(0)} runs/s`);
const against = (values: readonly number[]): string =>
  median(values.map((value, i) => value / (reading[i] ?? Number.NaN))).toFixed(2);
console.log(`scored, not stored   ${median(dry).toFixed(0)} runs/s, ${against(dry)} of reading`);
console.log(
  `scored and stored    ${perSecond.toFixed(0)} runs/s, ${against(scored.map((pass) => pass.perSecond))} of reading`,
);
console.log(
  `heap before ${megabytes(before)}, at each quarter of the last pass ${scored.at(-1)?.quarters.map(megabytes).join(', ')}`,
);
console.log(`resident at the end  ${megabytes(process.memoryUsage().rss)}`);

await pipeline.close();
await store.close();
folder.remove();
