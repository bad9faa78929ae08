/** Runs that are watched and waited for, and events that move them on. */
import assert from 'node:assert/strict';
import type { Fixture, FixtureEvent } from '../kit/fixture.ts';
import { between, until } from '../kit/judging.ts';
import type { Scenario } from '../kit/scenario.ts';
import type { StoredRun } from '../opposite/daemon.ts';
import { anEntry, aRun } from '../opposite/scripted.ts';
import { echo, fails } from './definitions.ts';
import { client, fixtureAt, okOf, waitingRun, signalRun } from './client-stage.ts';

const watchEntries = (fixture: Fixture, call: number): FixtureEvent[] =>
  fixture.events.filter((event) => event.event === 'watch.entry' && event['call'] === call);
const seqsOf = (entries: readonly FixtureEvent[]): unknown[] => entries.map((entry) => entry['seq']);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const endedJournal = [anEntry(0, { kind: 'run.started' }), anEntry(1, { kind: 'run.finished' })];
const eventText = (entry: object, id: number): string => `id: ${id}\ndata: ${JSON.stringify(entry)}\n\n`;

export const clientFollowingScenarios: readonly Scenario[] = [
  client(39, 'watch', 'A watch gives every entry of the journal once, in order, as it is written.', async (world) => {
    const service = await world.service();
    const { run } = await waitingRun(world, service, 2);
    const fixture = await fixtureAt(world, service);
    const watching = fixture.send('client.watch', { run_id: run.run_id });
    await until('first entries', undefined, () => watchEntries(fixture, watching.id).length > 0);
    await signalRun(service, run.run_id, 'go1');
    await fixture.event('watch.entry', (event) => event['kind'] !== 'run.started' && Number(event['seq']) > 2);
    await signalRun(service, run.run_id, 'go2');
    okOf(await watching.answer);
    const journal = await service.api.journal(run.run_id);
    const seen = watchEntries(fixture, watching.id).map(({ seq, kind }) => ({ seq, kind }));
    assert.deepEqual(
      seen,
      journal.map(({ seq, kind }) => ({ seq, kind })),
    );
  }),

  client(
    40,
    'watch-over-cuts',
    'A watch has no gap and no double over broken connections and a restart of the service.',
    async (world) => {
      const service = await world.ownService();
      const { run } = await waitingRun(world, service, 3);
      const fixture = await fixtureAt(world, service, { retry: { attempts: 200, base_ms: 10, max_ms: 100 } });
      const watching = fixture.send('client.watch', { run_id: run.run_id });
      await until('first entries', undefined, () => watchEntries(fixture, watching.id).length > 0);
      service.proxy.cutAll();
      await signalRun(service, run.run_id, 'go1');
      await service.restart('SIGKILL');
      await signalRun(service, run.run_id, 'go2');
      service.proxy.cutAll();
      await signalRun(service, run.run_id, 'go3');
      okOf(await watching.answer);
      const journal = await service.api.journal(run.run_id);
      assert.deepEqual(seqsOf(watchEntries(fixture, watching.id)), upTo(journal.length));
    },
  ),

  client(41, 'watch-ends', 'A watch ends with the run, also one that begins after it.', async (world) => {
    const service = await world.service();
    const id = world.unique('echo');
    await service.api.store(echo(id));
    const { run_id } = await service.api.start(id, {}, { wait_ms: 5000 });
    const journal = await service.api.journal(run_id);
    const fixture = await fixtureAt(world, service);
    const startedAt = performance.now();
    const all = await fixture.ask<{ seqs: readonly number[] }>('client.watch', { run_id });
    assert.deepEqual(all.seqs, upTo(journal.length));
    const rest = await fixture.ask<{ seqs: readonly number[] }>('client.watch', { run_id, after: 0 });
    assert.deepEqual(rest.seqs, upTo(journal.length).slice(1), 'after 0 begins at 1');
    const none = await fixture.ask<{ seqs: readonly number[] }>('client.watch', { run_id, after: journal.length - 1 });
    assert.deepEqual(none.seqs, [], 'nothing is behind the end');
    between('three watches of an ended run', performance.now() - startedAt, 0, 8000);
  }),

  client(
    42,
    'event-stream',
    'Comments, CRLF, data over several lines and characters cut in two are read as the standard says.',
    async (world) => {
      const service = await world.scripted();
      const text = [
        ': a comment\r\n\r\n',
        `id: 0\r\nevent: journal\r\ndata: {"seq":0,"kind":"run.grüße😀",\r\ndata: "at":"2026-11-20T09:00:00Z","data":{}}\r\n\r\n`,
        `data:${JSON.stringify(anEntry(1, { kind: 'cursor.moved' }))}\n\n`,
        'retry: 10\n: another\n\n',
        `unknown: field\rid: 2\rdata: ${JSON.stringify(anEntry(2, { kind: 'run.finished' }))}\r\r`,
        ': the end\n',
      ].join('');
      const bytes = Buffer.from(text);
      // Three bytes a piece: each character beyond ASCII, and each CRLF, is cut in two somewhere.
      const pieces = Array.from({ length: Math.ceil(bytes.length / 3) }, (_, index) =>
        bytes.subarray(index * 3, index * 3 + 3),
      );
      service.streams.push({ text: '', end: 'end', pieces: { bytes: pieces, everyMs: 1 } });
      service.setRun(aRun(), endedJournal);
      const fixture = await fixtureAt(world, service);
      const { id, answer } = fixture.send('client.watch', { run_id: 'run-1' });
      okOf(await answer);
      assert.deepEqual(
        watchEntries(fixture, id).map((event) => event['kind']),
        ['run.grüße😀', 'cursor.moved', 'run.finished'],
      );
    },
  ),

  client(
    43,
    'silent-stream',
    'A stream that is silent for too long is replaced, from the last entry on.',
    async (world) => {
      const service = await world.scripted();
      service.setRun(aRun({ status: 'running' }));
      service.streams.push(
        { text: eventText(anEntry(0, { kind: 'run.started' }), 0), end: 'stay' },
        { text: eventText(anEntry(1, { kind: 'run.finished' }), 1), end: 'end' },
      );
      const fixture = await fixtureAt(world, service, { stream_idle_ms: 500 });
      const { seqs } = await fixture.ask<{ seqs: readonly number[] }>('client.watch', { run_id: 'run-1' });
      assert.deepEqual(seqs, [0, 1]);
      const streams = service.callsTo('events').filter((call) => call.headers.accept === 'text/event-stream');
      assert.equal(streams.length, 2);
      assert.equal(streams[1]?.headers['last-event-id'], '0', 'it goes on behind the last one seen');
      between('silence before it was replaced', (streams[1]?.at ?? 0) - (streams[0]?.at ?? 0), 450, 8000);
    },
  ),

  client(44, 'wait-output', 'A wait gives the output of a run that succeeds while it waits.', async (world) => {
    const service = await world.service();
    const { run } = await waitingRun(world, service);
    const fixture = await fixtureAt(world, service);
    const waiting = fixture.send('client.wait', { run_id: run.run_id });
    await service.proxy.seen('the wait', ({ path }) => path.includes(run.run_id));
    await signalRun(service, run.run_id, 'go1', { approved: true, by: 'Zoë' });
    assert.deepEqual(okOf(await waiting.answer), { output: { approved: true, by: 'Zoë' } });
  }),

  client(45, 'wait-failure', 'A wait for a run that fails is an error that holds the run.', async (world) => {
    const service = await world.service();
    const id = world.unique('fails');
    await service.api.store(fails(id));
    const { run_id } = await service.api.start(id, {});
    const fixture = await fixtureAt(world, service);
    const { type, run, message } = await fixture.refused('client.wait', { run_id });
    assert.equal(type, 'RunFailed');
    assert.equal(run?.['run_id'], run_id);
    assert.equal(run?.['status'], 'failed');
    assert.deepEqual(run?.['error'], (await service.api.run(run_id)).error);
    assert.match(message, /the account is empty/, 'its message says why');
  }),

  client(
    46,
    'wait-cancelled',
    'A wait for a run that is cancelled is an error that holds the cancelled run.',
    async (world) => {
      const service = await world.service();
      const { run } = await waitingRun(world, service);
      const fixture = await fixtureAt(world, service);
      const waiting = fixture.send('client.wait', { run_id: run.run_id });
      await service.proxy.seen('the wait', ({ path }) => path.includes(run.run_id));
      const cancelled = await fixture.ask<StoredRun>('client.cancel', {
        run_id: run.run_id,
        reason: 'no longer wanted',
      });
      assert.equal(cancelled.status, 'cancelled');
      const { error } = await waiting.answer;
      assert.equal(error?.type, 'RunFailed');
      assert.equal(error?.run?.['status'], 'cancelled');
    },
  ),

  client(
    47,
    'caller-stops',
    'A caller that stops waiting or watching gets control at once, and the connection is closed.',
    async (world) => {
      const service = await world.scripted();
      service.answerAlways('run-1', 'stall');
      service.streams.push({ text: eventText(anEntry(0), 0), end: 'stay' });
      const fixture = await fixtureAt(world, service);
      const waiting = fixture.send('client.wait', { run_id: 'run-1' });
      const watching = fixture.send('client.watch', { run_id: 'run-2' });
      const wait = await service.seen('run-1');
      const watch = await service.seen('events');
      await until('an entry', undefined, () => watchEntries(fixture, watching.id).length > 0);
      const startedAt = performance.now();
      await fixture.ask('cancel_call', { call: waiting.id });
      await fixture.ask('cancel_call', { call: watching.id });
      const [waited, watched] = await Promise.all([waiting.answer, watching.answer]);
      between('the stop', performance.now() - startedAt, 0, 3000);
      assert.equal(waited.error?.type, 'Cancelled');
      if (watched.error !== undefined) assert.equal(watched.error.type, 'Cancelled');
      await until('end of both connections', 3000, () => wait.isBrokenOff() && watch.isBrokenOff());
    },
  ),

  client(
    48,
    'events',
    'Signals and published events are delivered, parked, and known again by their id.',
    async (world) => {
      const service = await world.service();
      const { run, key } = await waitingRun(world, service, 2);
      const fixture = await fixtureAt(world, service);
      await service.api.runWhere(run.run_id, 'that waits', ({ status }) => status === 'waiting');
      const outcome = async (verb: string, input: object): Promise<unknown> =>
        (await fixture.ask<{ outcome: string }>(verb, input)).outcome;
      const event_id = world.unique('event');
      assert.equal(
        await outcome('client.signal', { run_id: run.run_id, event: 'go1', payload: { n: 1 }, event_id }),
        'delivered',
      );
      assert.equal(
        await outcome('client.signal', { run_id: run.run_id, event: 'go1', payload: { n: 1 }, event_id }),
        'duplicate',
      );
      assert.equal(await outcome('client.publish', { event: 'go2', key: 'nobody', payload: {} }), 'parked');
      assert.equal(await outcome('client.publish', { event: 'go2', key, payload: { n: 2 } }), 'delivered');
      assert.deepEqual((await service.api.ended(run.run_id)).output, { n: 2 });
      const conflict = await fixture.refused('client.signal', { run_id: run.run_id, event: 'go1', payload: {} });
      assert.deepEqual([conflict.type, conflict.status, conflict.code], ['ServiceError', 409, 'run_terminal']);
    },
  ),
];
