/** Body of a thread that makes hostile bodies with traces of their own: to inflate, rename and deflate one takes up to half a second. */
import { parentPort } from 'node:worker_threads';
import { standBack } from '../../src/store/thread-priority.ts';
import { hostileBodies, sentInRound } from '../ingest/hostile-bodies.ts';

/** Behind the service and all senders. */
const NICENESS = 15;

standBack(NICENESS);
parentPort?.on('message', ({ place, round }: { readonly place: number; readonly round: number }) => {
  const body = hostileBodies[place];
  if (body === undefined) throw new Error(`there is no body ${place}`);
  parentPort?.postMessage({ place, bytes: sentInRound(body, round) });
});
