// openworkflow: a library and its worker in one process, over SQLite or PostgreSQL.
import { OpenWorkflow } from 'openworkflow';
import { driveRuns, printFigures, readPlan } from '../drive-runs.ts';

const { database, file, ...plan } = await readPlan();
const backend =
  file === undefined
    ? await (await import('openworkflow/postgres')).BackendPostgres.connect(database)
    : (await import('openworkflow/sqlite')).BackendSqlite.connect(file);
const engine = new OpenWorkflow({ backend });
// Its handle asks once a second whether a run has ended; the worker beside it tells at once, which is in its favour.
const waiting = new Map();
let last = 0;
const five = engine.defineWorkflow({ name: 'five' }, async ({ input, step }) => {
  for (let index = 0; index < 5; index += 1) await step.run({ name: `step-${index}` }, async () => ({ ok: true }));
  waiting.get(input.no)?.();
  return input.no;
});
const worker = engine.newWorker({ concurrency: plan.inFlight });
await worker.start();
printFigures(
  await driveRuns(plan, async () => {
    last += 1;
    const no = last;
    const ended = new Promise((resolve) => waiting.set(no, resolve));
    await five.run({ no });
    await ended;
    waiting.delete(no);
  }),
);
