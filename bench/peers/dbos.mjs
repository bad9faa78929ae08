// DBOS: a library in the process of its user, over PostgreSQL.
import { DBOS } from '@dbos-inc/dbos-sdk';
import { driveRuns, printFigures, readPlan } from '../drive-runs.ts';

const { database, ...plan } = await readPlan();
const five = DBOS.registerWorkflow(
  async (n) => {
    for (let step = 0; step < 5; step += 1) await DBOS.runStep(async () => ({ ok: true }), { name: `step-${step}` });
    return n;
  },
  { name: 'five' },
);
DBOS.setConfig({ name: 'bench', systemDatabaseUrl: database, runAdminServer: false, logLevel: 'error' });
await DBOS.launch();
printFigures(
  await driveRuns(plan, async (n) => {
    const handle = await DBOS.startWorkflow(five)(n);
    await handle.getResult();
  }),
);
