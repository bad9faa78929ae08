// Restate: a workflow of five journaled steps, called through the ingress, which answers with its result.
import { endpoint, service } from '@restatedev/restate-sdk';
import { connect } from '@restatedev/restate-sdk-clients';
import { createServer } from 'node:http2';
import { once } from 'node:events';
import { driveRuns, printFigures, readPlan } from '../drive-runs.ts';

const { ingress, admin, ...plan } = await readPlan();
const five = service({
  name: 'five',
  handlers: {
    run: async (ctx, n) => {
      for (let step = 0; step < 5; step += 1) await ctx.run(`step-${step}`, () => ({ ok: true }));
      return n;
    },
  },
});
const server = createServer(endpoint().bind(five).http2Handler());
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const registered = await fetch(`${admin}/deployments`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ uri: `http://127.0.0.1:${server.address().port}` }),
});
if (!registered.ok) throw new Error(await registered.text());
const client = connect({ url: ingress }).serviceClient(five);
printFigures(await driveRuns(plan, (n) => client.run(n)));
