/**
 * Scoring 10,000 stored runs of eight spans with all thirteen deterministic scorers, in one request, against the mere reading
 * of the same runs. Run: `node bench/scoring.ts [runs]`. Prints runs a second of both, their ratio, and the live memory of the
 * process (after a forced garbage collection, what lies outside of the heap included) at the quarters of a pass and of the writing
 * of its answer: a pass that kept what it read, or what it says, would grow.
 */
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { decodeTracesProtobuf } from '../src/ingest/otlp/protobuf.ts';
import { createAdmission } from '../src/ingest/admission.ts';
import { createPipeline } from '../src/ingest/pipeline.ts';
import { createQuota } from '../src/ingest/quota.ts';
import { createSampler } from '../src/ingest/sample.ts';
import { skippedToWire } from '../src/http/codec/evaluation.ts';
import { scoreToWire } from '../src/http/codec/judgement.ts';
import { jsonPieces, mapLazily } from '../src/http/answer/json-pieces.ts';
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
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

type Memory = { readonly heapUsed: number; readonly external: number };
/** What is alive now: objects, and the bytes that they hold outside of the heap. */
const live = (): Memory => {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return { heapUsed, external };
};
const shown = (memories: readonly Memory[]): string =>
  memories.map(({ heapUsed, external }) => `${megabytes(heapUsed)} + ${megabytes(external)}`).join(', ');

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

type Pass = {
  readonly perSecond: number;
  readonly written: number;
  /** At each quarter of the runs; measured only where asked for, since a collection takes its time. */
  readonly passing: readonly Memory[];
  /** At the beginning and at each quarter of the answer. */
  readonly answering: readonly Memory[];
  readonly answerBytes: number;
  readonly answerSeconds: number;
};

const scoreAll = async (dryRun: boolean, measuresMemory = false): Promise<Pass> => {
  const passing: Memory[] = [];
  let reads = 0;
  const scoring = createScoring({
    store: {
      listTraces: store.listTraces,
      findExpected: store.findExpected,
      listScores: store.listScores,
      findTrace: (traceId, reach, payloads) => {
        reads += 1;
        if (measuresMemory && reads % Math.ceil(RUNS / QUARTERS) === 0) passing.push(live());
        return store.findTrace(traceId, reach, payloads);
      },
    },
    pipeline,
    clock: nowUnixNano,
    requestTimeoutSeconds: 30,
  });
  const from = performance.now();
  const report = await scoring.score({
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
  const perSecond = RUNS / ((performance.now() - from) / 1000);

  const answering: Memory[] = measuresMemory ? [live()] : [];
  const answerFrom = performance.now();
  let answerBytes = 0;
  let entries = 0;
  const pieces = jsonPieces({
    scores: mapLazily(report.scores, (score) => {
      entries += 1;
      if (measuresMemory && entries % Math.ceil((RUNS * builtInScorers.length) / QUARTERS) === 0)
        answering.push(live());
      return scoreToWire(score);
    }),
    scores_written: report.scoresWritten,
    skipped: mapLazily(report.skipped, skippedToWire),
  });
  for (const piece of pieces) answerBytes += Buffer.byteLength(piece);
  const answerSeconds = (performance.now() - answerFrom) / 1000;
  return { perSecond, written: report.scoresWritten, passing, answering, answerBytes, answerSeconds };
};

await readAll(); // warm
const reading: number[] = [];
const dry: number[] = [];
const scored: Pass[] = [];
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
const answer = median(scored.map(({ answerSeconds }) => answerSeconds));
console.log(
  `its answer           ${megabytes(scored[0]?.answerBytes ?? 0)} of JSON, written in ${answer.toFixed(2)} s of the main thread`,
);
for (const dryRun of [true, false]) {
  const before = live();
  const { passing, answering } = await scoreAll(dryRun, true);
  console.log(`live heap + outside of it, ${dryRun ? 'not stored' : 'stored'}: before ${shown([before])}`);
  console.log(`  at each quarter of the runs     ${shown(passing)}`);
  console.log(`  and of the answer, from its beginning ${shown(answering)}`);
}
console.log(`resident at the end  ${megabytes(process.memoryUsage().rss)}`);

await pipeline.close();
await store.close();
folder.remove();
