import type { Run } from './engine.ts';
import { config, type Pair } from './pair.ts';
import { definitions } from './definitions.ts';

/** One short history for each place where chance seldom leads: the rest of the coverage is left to chance. */
export const corners = async (pair: Pair): Promise<void> => {
  const start = (id: string, input: object = {}, project = 'p') =>
    pair.start(project, id, undefined, input as never, {});
  const begin = async (who = 'w1', only?: Run) => {
    const [lease] = await pair.claim(who, 1, only);
    await pair.started(lease, who);
    await pair.compare();
    return lease;
  };
  const end = async () => {
    await pair.cancel(pair.engine.runs.at(-1));
    await pair.compare();
  };
  const dollar = [{ cost: 1 }];

  // The money of a run, over a failed try and one that ended well.
  await start('plain');
  await pair.fail(await begin(), 'w1', { class: 'retryable', message: '' }, undefined, dollar);
  await pair.compare();
  await pair.complete(await begin(), 'w1', 1, undefined, dollar);
  await pair.compare();
  await start('plain');
  await pair.fail(await begin(), 'w1', { class: 'retryable', message: '' }, undefined, [{ cost: 2 }]);
  await pair.compare();

  // The money and the attempts of one task, over its visits, however they end.
  await start('capped');
  await pair.complete(await begin(), 'w1', 1, undefined, [{ cost: 0.5 }]);
  await pair.compare();
  await pair.fail(await begin(), 'w1', { class: 'mine', message: '' }, undefined, [{ cost: 0.5 }]);
  await pair.compare();
  await start('capped');
  await begin();
  await pair.pass(config.leaseTtlMs + config.reclaimWindowMs);
  await pair.compare();
  const beaten = await begin();
  await pair.hop(6_000);
  await pair.heartbeat(beaten, 'w1');
  await pair.pass(7_000);
  await pair.compare();
  await pair.fail(await begin(), 'w1', { class: 'rate_limited', message: '' });
  await pair.compare();
  await start('capped');
  for (let n = 0; n < 3; n += 1) await pair.complete(await begin(), 'w1', n);
  await pair.compare();

  // Its steps, its branches and its conditions.
  await start('loop');
  for (const n of [2, 2, 2]) {
    const lease = await begin();
    await pair.complete(lease, 'w1', n, { n, wanted: 1 });
    await pair.compare();
  }
  await end();
  await start('loop');
  for (const n of [0, 0]) await pair.complete(await begin(), 'w1', n, { n });
  await pair.compare();
  await start('loop');
  for (const n of ['text', 'text']) await pair.complete(await begin(), 'w1', n, { n });
  await pair.compare();

  await start('loop');
  for (let turn = 0; turn < 4; turn += 1) {
    const lease = await begin();
    await pair.complete(lease, 'w1', turn, { n: 1 });
    await pair.compare();
  }

  // An orphan that says again that it runs; one that reports; one that beats.
  for (const back of ['started', 'complete', 'heartbeat', 'fail'] as const) {
    await start('once');
    const lease = await begin();
    for (let beat = 0; beat < 2; beat += 1) await pair.heartbeat(lease, 'w1');
    await pair.hop(9_000);
    await pair.heartbeat(lease, 'w1', { page: 1 });
    await pair.complete(lease, 'w1', 1);
    await end();
    await start('plain');
    const other = await begin();
    await pair.pass(config.leaseTtlMs);
    if (back === 'complete') await pair.complete(other, 'w1', 1);
    else if (back === 'fail') await pair.fail(other, 'w1', { class: 'retryable', message: '' });
    else await pair[back](other, 'w1');
    await pair.compare();
    await end();
  }

  // An orphan of a body that must not run again: its step fails, and on_error takes that.
  await start('once');
  await pair.fail(await begin(), 'w1', { class: 'fatal', code: 'odd', message: '' });
  await begin();
  await pair.pass(config.leaseTtlMs + config.reclaimWindowMs);
  await pair.compare();

  // Declared twice; never declared, and beats or reports all the same.
  await start('plain');
  await pair.started(await begin(), 'w1');
  await end();
  await start('plain');
  const [undeclared] = await pair.claim('w1', 1, pair.engine.runs.at(-1));
  await pair.heartbeat(undeclared, 'w1');
  await pair.complete(undeclared, 'w1', 1);
  await pair.compare();
  await end();

  // Leases that ended without their worker: reclaimed, lapsed, timed out.
  for (const gone of ['reclaimed', 'lapsed', 'timed out']) {
    await start(gone === 'timed out' ? 'retry' : 'plain');
    const [lease] = await pair.claim('w1', 1, pair.engine.runs.at(-1));
    if (gone !== 'lapsed') await pair.started(lease, 'w1');
    await pair.pass(config.leaseTtlMs + config.reclaimWindowMs);
    await pair.started(lease, 'w1');
    await pair.heartbeat(lease, 'w1', 'late');
    await pair.complete(lease, 'w1', 'late', { late: true });
    await pair.fail(lease, 'w1', { class: 'fatal', message: '' });
    await pair.fail(lease, 'w1', { class: 'unservable', message: '' });
    await pair.compare();
    await end();
  }

  // A body that must run once at most: never declared, unservable before and after, and with other ends.
  await start('once');
  const [offered] = await pair.claim('w1', 1);
  await pair.complete(offered, 'w1', 1);
  await pair.fail(offered, 'w1', { class: 'fatal', message: '' });
  await pair.fail(offered, 'w1', { class: 'unservable', message: '' });
  await pair.compare();
  await pair.hop(300_000);
  await pair.fail(await begin(), 'w1', { class: 'unservable', message: '' });
  await pair.compare();
  await pair.hop(300_000);
  await start('once');
  await pair.fail(await begin(), 'w1', { class: 'rate_limited', code: 'odd', message: '' });
  await pair.compare();
  await end();
  await start('once');
  await begin();
  await pair.pass(config.leaseTtlMs + config.reclaimWindowMs);
  await pair.compare();

  // Unservable, until five minutes are over; an offer handed back.
  await start('plain');
  const [first] = await pair.claim('w1', 1);
  await pair.fail(first, 'w1', { class: 'unservable', message: '' });
  await pair.claim('w1', 1);
  await pair.pass(1_000);
  await pair.claim('w3', 1);
  await pair.giveBack(pair.leases.at(-1));
  await pair.compare();
  await end();
  await pair.hop(300_000);

  // Ten orphans.
  await start('plain');
  for (let orphan = 0; orphan < 10; orphan += 1) {
    await begin();
    await pair.pass(config.leaseTtlMs + config.reclaimWindowMs);
    await pair.compare();
  }

  // Retries: the budget, the backoff, the class that spends nothing, details for the next.
  await start('retry');
  for (const cls of ['retryable', 'rate_limited', 'retryable', 'retryable']) {
    const lease = await begin();
    await pair.heartbeat(lease, 'w1', { cls });
    await pair.fail(lease, 'w1', { class: cls, message: '' }, cls === 'rate_limited' ? 2_000 : undefined);
    await pair.compare();
    await pair.pass(5_000);
    await pair.compare();
  }
  await start('retry');
  await begin('w1', pair.engine.runs.at(-1));
  await pair.pass(8_003);
  await begin('w1', pair.engine.runs.at(-1));
  await pair.compare();
  await end();

  // Children: none, a list that is none, a start that fails halfway, all well, one failed, one cancelled, grandchildren cancelled from above.
  for (const l of [[], 'no list', [1, 'no number']]) {
    await start('fan', { l });
    await pair.compare();
    await end();
  }
  await start('torn');
  const all = { l: [1, 2, 3] };
  await start('fan', all);
  for (let n = 0; n < 4; n += 1) await pair.complete(await begin(), 'w1', n);
  await pair.compare();
  await start('fan', all);
  await pair.fail(await begin(), 'w1', { class: 'fatal', message: '' });
  await pair.compare();
  await end();
  // Collected: an input that does not fit, one that cannot be made, one that fails, one that is cancelled, two that end well.
  await start('gather', { l: [{ n: 1 }, { n: 'no number' }, {}, { n: 2 }, { n: 3 }, { n: 4 }] });
  await pair.compare();
  const gathering = pair.engine.runs.find(({ cursor, status }) => cursor === 'all' && status === 'waiting');
  const open = (): Run | undefined => gathering?.children.find(({ status }) => status === 'queued');
  await pair.complete(await begin('w1', open()), 'w1', 'good');
  await pair.fail(await begin('w1', open()), 'w1', { class: 'odd', code: 'odd', message: '' });
  await pair.compare();
  await pair.cancel(open());
  await pair.compare();
  await pair.complete(await begin('w1', open()), 'w1');
  await pair.compare();
  await pair.complete(await begin('w1', gathering), 'w1', 'sum');
  await pair.compare();
  await start('gather', { l: 'no list' });
  await end();
  await start('tree', all);
  await pair.compare();
  await pair.cancel(pair.engine.runs.at(-3));
  await pair.compare();
  await start('tree', all);
  await begin();
  await pair.cancel(pair.engine.runs.at(-4));
  await pair.compare();

  // Events: parked and taken, delivered, signalled, the same twice.
  await pair.publish('p', 'go', 'k', 1, 'once');
  await start('ask', { k: 'k' });
  await pair.compare();
  await end();
  // Whether its event was taken or not, an id is sent again on both sides of the day that a parked event lives.
  await pair.publish('p', 'go', 'k', 1, 'untaken');
  await pair.hop(24 * 3600_000 - 1);
  for (const id of ['once', 'untaken']) await pair.publish('p', 'go', 'k', 1, id);
  await pair.hop(1);
  for (const id of ['once', 'untaken']) await pair.publish('p', 'go', 'k', 1, id);
  await pair.compare();
  await start('ask', { k: 'k' });
  await pair.compare();
  await end();
  // The oldest wait of two takes an event, and the oldest event of two is taken by a wait.
  await start('open', { k: '1' });
  await pair.pass(1_000);
  await start('open', { k: '1' });
  await pair.publish('p', 'go', '1', 'for the first');
  await pair.compare();
  await end();
  await pair.publish('p', 'go', '1', 'first');
  await pair.pass(1_000);
  await pair.publish('p', 'go', '1', 'second');
  await start('ask', { k: '1' });
  await pair.compare();
  await end();
  await start('ask', { k: 'k', at: 'its second wait' });
  await pair.pass(7_007);
  await pair.publish('p', 'stop', '', 2, 'twice');
  await pair.publish('p', 'stop', '', 2, 'twice');
  await pair.compare();
  await start('open', { k: 'k' });
  await pair.signal(pair.engine.runs.at(-1), 'stop', 3);
  await pair.signal(pair.engine.runs.at(-1), 'go', 3, 'thrice');
  await pair.signal(pair.engine.runs.at(-1), 'go', 3, 'thrice');
  await pair.compare();
  await end();
  await pair.signal(pair.engine.runs.at(-1), 'go', 3);
  await start('ask', { k: 'none' });
  await pair.pass(7_007 + 11_003 + 3_000);
  await pair.compare();

  // The first of several events: by publish and by signal, parked, none at all, and two lines that come to one.
  for (const [event, key] of [
    ['go', 'k'],
    ['go', '1'],
    ['stop', ''],
  ] as const) {
    await start('first', { k: 'k' });
    await pair.compare();
    await pair.publish('p', event, key, { by: event });
    await pair.compare();
    await end();
  }
  await start('first', { k: '1' });
  await pair.compare();
  await pair.signal(pair.engine.runs.at(-1), 'go', 1);
  await pair.compare();
  await end();
  await pair.publish('p', 'stop', '', 'older');
  await pair.publish('p', 'go', 'k', 'younger');
  await start('first', { k: 'k' });
  await pair.compare();
  await start('first', { k: 'k' });
  await pair.compare();
  await end();
  await start('first', {});
  await end();
  await start('first', { k: 'none' });
  await pair.pass(9_001 + 1_000);
  await pair.compare();
  await end();

  // Time: never due, the whole run.
  await start('dated', { at: 'tomorrow' });
  await pair.compare();
  await end();
  await start('dated', { at: '2400-01-01T00:00:00Z' });
  await pair.compare();
  await pair.pass(21_000);
  await pair.compare();

  // The age of a step: an offer that lapsed keeps it, a try that failed begins anew.
  for (const run of pair.engine.runs) await pair.cancel(run);
  for (const how of ['lapsed', 'unservable', 'failed']) {
    await start('once');
    const [first] = await pair.claim('w1', 1);
    if (how === 'failed') await pair.started(first, 'w1');
    await pair.pass(1_000);
    await start('once');
    await pair.pass(1_000);
    if (how === 'unservable') await pair.fail(first, 'w1', { class: 'unservable', message: '' });
    else if (how === 'failed') await pair.fail(first, 'w1', { class: 'fatal', code: 'odd', message: '' });
    else await pair.pass(config.offerTtlMs);
    await pair.compare();
    // Worker w3 serves it too, and has refused nothing.
    await pair.claim('w3', 1);
    await pair.compare();
    for (const run of pair.engine.runs.slice(-2)) await pair.cancel(run);
  }

  // What is refused at the door.
  await start('checked');
  await start('nowhere');
  await pair.start('p', 'plain', 9, {}, {});
  await pair.claim('stranger', 1);
  await pair.register('w4', [{ id: 'bad' }]);
  await pair.register('w4', [{ ...(definitions[0] as object), output: 1 }]);
  await pair.fail(undefined, 'w1', { class: 'fatal', message: '' });
  await pair.cancel(undefined);
  await pair.reopen();
  await pair.compare();
};
