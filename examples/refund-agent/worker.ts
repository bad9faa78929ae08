import { createWorker } from '../../sdk/typescript/src/index.ts';
import { refund } from './refund.ts';

const worker = createWorker({ workflows: [refund], name: 'refund-agent', serviceName: 'refund-agent' });
const ended = worker.run();
console.log(
  `worker ${worker.workerId} serves ${refund.definition.id} version ${refund.definition.version}; Ctrl-C stops it`,
);
await ended;
