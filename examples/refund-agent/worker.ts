import { createWorker } from '../../sdk/typescript/src/index.ts';
import { refund } from './refund.ts';

// It says when it is registered, where, and what it serves; Ctrl-C stops it.
await createWorker({ workflows: [refund], name: 'refund-agent', serviceName: 'refund-agent' }).run();
