import { isOver, type Run } from './engine.ts';
import { config, type Pair } from './pair.ts';

/** One short history for each place where a run may be paused, and for what comes meanwhile. */
export const pauseCorners = async (pair: Pair): Promise<void> => {
  const { engine } = pair;
  const start = async (id: string, input: object = {}, afterMs = 0): Promise<Run> => {
    await pair.start('p', id, undefined, input as never, {}, undefined, afterMs);
    await pair.compare();
    return engine.runs.findLast(({ parent }) => parent === undefined) as Run;
  };
  const begin = async (only: Run) => {
    const [lease] = await pair.claim('w1', 1, only);
    await pair.started(lease, 'w1');
    return lease;
  };
  const pause = async (run: Run): Promise<void> => {
    await pair.pause(run);
    await pair.compare();
  };
  const resume = async (run: Run): Promise<void> => {
    await pair.resume(run);
    await pair.compare();
  };
  const pass = async (ms: number): Promise<void> => {
    await pair.pass(ms);
    await pair.compare();
  };
  const end = async (): Promise<void> => {
    for (const run of engine.runs) if (!isOver(run)) await pair.cancel(run);
    await pair.compare();
  };

  // In the queue, under a lease that goes on, and over a restart.
  const plain = await start('plain', { n: 1 });
  await pause(plain);
  await pause(plain);
  await pair.claim('w1', 1, plain);
  await resume(plain);
  const lease = await begin(plain);
  await pause(plain);
  await pair.heartbeat(lease, 'w1');
  await pair.reopen();
  await pair.complete(lease, 'w1', 1);
  await pair.compare();
  await pair.claim('w1', 1, plain);
  await resume(plain);
  await resume(plain);
  await pair.complete(await begin(plain), 'w1', 2);
  await pause(plain);

  // Its last lease while it is paused: lapsed, reclaimed, too dear at the door of the next step.
  const lost = await start('plain');
  await pair.claim('w1', 1, lost);
  await pause(lost);
  await pass(config.offerTtlMs + 1000);
  await resume(lost);
  await begin(lost);
  await pause(lost);
  await pass(config.leaseTtlMs + config.reclaimWindowMs + 1000);
  await pair.claim('w1', 1, lost);
  await resume(lost);
  const dear = await begin(lost);
  await pause(lost);
  await pair.complete(dear, 'w1', 1, undefined, [{ cost: 3 }]);
  await pair.compare();
  const capped = await start('capped');
  const costly = await begin(capped);
  await pause(capped);
  await pair.fail(costly, 'w1', { class: 'mine', message: '' }, undefined, [{ cost: 2 }]);
  await pair.compare();

  // A backoff that began while it was paused: due at resume, and not yet; one that began before.
  for (const ms of [4000, 1000, 1]) {
    const retried = await start('retry');
    const tried = await begin(retried);
    if (ms > 1) await pause(retried);
    await pair.fail(tried, 'w1', { class: 'retryable', message: '' });
    if (ms === 1) await pause(retried);
    await pass(ms);
    await resume(retried);
    await pass(2000);
    await pair.claim('w1', 1, retried);
    await pair.compare();
    await end();
  }

  // A wait: its timeout is due at resume, or not yet; an event comes before; one leads on by itself.
  for (const ms of [3000, 9000]) {
    const asking = await start('ask', { k: 'k' });
    await pause(asking);
    await pass(ms);
    await pair.reopen();
    await resume(asking);
    await pass(8000);
    await end();
  }
  const told = await start('first', { k: 'k' });
  await pause(told);
  await pair.publish('p', 'go', 'k', { yes: true });
  await pair.compare();
  await pair.signal(told, 'go', 1);
  await pair.reopen();
  await pass(10_000);
  await resume(told);
  await pair.claim('w1', 1, told);
  await pair.compare();
  await end();

  // Sleeps: to a time, without an end; and the whole time of a run, which goes on.
  for (const at of ['2400-01-01T00:00:00Z', new Date(engine.now() + 5000).toISOString()]) {
    const dated = await start('dated', { at });
    await pause(dated);
    await pass(3000);
    await resume(dated);
    await pause(dated);
    await pair.reopen();
    await pass(3000);
    await resume(dated);
    await pause(dated);
    await pass(15_000);
  }

  // A later start: it comes by itself, over a restart, while it is paused, after a resume, and while its definition is paused.
  for (const way of [
    'by itself',
    'over a restart',
    'while paused',
    'after a resume',
    'resumed over a restart',
    'resumed before a restart',
    'definition',
  ]) {
    const later = await start('kid', { doc: 1 }, 5000);
    if (way === 'over a restart') await pair.reopen();
    if (way.includes('paused') || way.includes('resume')) await pause(later);
    await pass(2000);
    if (way === 'resumed over a restart') await pair.reopen();
    if (way.includes('resume')) await resume(later);
    if (way === 'resumed before a restart') await pair.reopen();
    if (way === 'definition') await pair.pauseDefinition('kid');
    await pass(4000);
    if (way === 'while paused') await resume(later);
    if (way === 'definition') {
      await pair.reopen();
      await pair.compare();
      await pair.resumeDefinition('kid');
    }
    await pair.claim('w1', 1, later);
    await pair.compare();
    await end();
  }

  // Children: with their parent, by name, in the middle of their work, ended while it is paused.
  const fan = await start('fan', { l: [1, 2, 3] });
  const [first, second] = fan.children as [Run, Run];
  await pause(first);
  await pause(fan);
  await pause(second);
  await resume(second);
  await pass(1000);
  await resume(fan);
  await resume(first);
  const [one, other] = [await begin(first), await begin(second)];
  await pause(fan);
  await resume(second);
  await pair.complete(one, 'w1', 1);
  await pair.compare();
  await pair.complete(other, 'w1', 2);
  await pair.compare();
  await pair.reopen();
  await resume(fan);
  const last = await begin(fan.children[2] as Run);
  await pause(fan);
  await pause(fan.children[2] as Run);
  await pair.complete(last, 'w1', 3);
  await pair.compare();
  await pass(1000);
  await resume(fan);
  await pair.claim('w1', 1, fan);
  await end();
  // One that fails; one that is paused twice over; a tree of three.
  for (const id of ['fan', 'tree']) {
    const above = await start(id, { l: [1, 2, 3] });
    const leaf = engine.runs.find((run) => run.program.definition.id === 'kid' && !isOver(run)) as Run;
    const held = await begin(leaf);
    await pause(above);
    await pause(leaf);
    await pair.fail(held, 'w1', { class: 'fatal', message: '' });
    await pair.compare();
    await resume(above);
    await pair.compare();
    await end();
  }

  // A definition: what is started meanwhile, by name and by a parent; a run of it that is paused as well.
  await pair.pauseDefinition('unknown');
  await pair.resumeDefinition('unknown');
  const before = await start('kid', { doc: 1 });
  await pair.pauseDefinition('kid');
  await pair.pauseDefinition('kid');
  await pair.compare();
  await pair.claim('w1', 3);
  const meanwhile = await start('kid', { doc: 2 });
  const below = await start('fan', { l: [1, 2] });
  await pause(meanwhile);
  await pair.reopen();
  await pair.compare();
  await resume(meanwhile);
  await pause(meanwhile);
  await pass(1000);
  await pair.resumeDefinition('kid');
  await pair.compare();
  await resume(meanwhile);
  await pair.claim('w1', 5);
  await pair.compare();
  await pair.cancel(below);
  await pair.cancel(before);
  await pair.pauseDefinition('kid');
  const waits = await start('kid', { doc: 1 });
  await pass(61_000);
  await pair.resumeDefinition('kid');
  await pair.compare();
  await pair.pause(waits);
  await pair.resume(waits);
  await pair.pause(undefined);
  await pair.resume(undefined);
  await end();
};
