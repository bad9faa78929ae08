import { createClient, RunFailed, ServiceError } from '../../sdk/typescript/src/index.ts';
import { refund } from './refund.ts';

const [amount = '250', text = 'I do not like the colour any more.'] = process.argv.slice(2);
const ticket = { id: `t-${Date.now()}`, text, amount: Number(amount) };

const client = createClient();
const run = await client
  .start(refund, { ticket }, { correlation: { user_id: 'customer-7' } })
  .catch((error: unknown): never => {
    if (!(error instanceof ServiceError && error.status === 404)) throw error;
    console.error(`${error.message}: a worker brings it, so start worker.ts first`);
    process.exit(1);
  });
console.log(`run ${run.run_id}, trace ${run.trace_id}, ticket ${ticket.id}`);

for await (const entry of client.watch(run.run_id)) {
  console.log(`${String(entry.seq).padStart(3)} ${entry.kind.padEnd(15)} ${entry.step_id ?? ''}`);
  if (entry.kind === 'run.waiting' && entry.step_id === 'ask') {
    console.log('\n    It waits for a person. In another terminal:');
    console.log(`    npx node examples/refund-agent/approve.ts ${ticket.id} yes\n`);
  }
}

try {
  console.log('paid:', await client.wait(run.run_id));
} catch (error) {
  if (!(error instanceof RunFailed)) throw error;
  console.log(error.message);
} finally {
  client.close();
}
