import { afterEach, describe, expect, it } from 'vitest';
import { createRefusalLog } from '../../../src/http/answer/refusal-log.ts';
import { type Door, type DoorOptions, openDoor } from './ingest-door.ts';

const opened: Door[] = [];
const open = async (options: DoorOptions = {}): Promise<Door> => {
  const door = await openDoor(options);
  opened.push(door);
  return door;
};
afterEach(async () => {
  await Promise.all(opened.splice(0).map((door) => door.close()));
});

const SECRET = 'nobody-may-read-this';
const send = (door: Door, path: string, body: string, headers: Record<string, string> = {}) =>
  fetch(door.url + path, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
const read = async (door: Door, key?: string) => {
  const answer = await fetch(`${door.url}/v1/api/refusals`, key === undefined ? {} : { headers: { 'x-svc-key': key } });
  return {
    status: answer.status,
    body: (await answer.json()) as { refusals: Record<string, unknown>[]; forgotten: number },
  };
};
const kindsOf = ({ body }: Awaited<ReturnType<typeof read>>) =>
  body.refusals.map(({ first_at: _first, last_at: _last, ...kind }) => kind);

describe('refusals of the doors', () => {
  it('are counted by door, code, signal and field; the kind that grew last comes first', async () => {
    const door = await open();
    const bad = JSON.stringify({ spans: [{ name: 'a' }, { name: 'b' }, { trace_id: 'a'.repeat(32) }] });
    expect((await send(door, '/v1/ingest', bad)).status).toBe(200);
    expect((await send(door, '/v1/ingest', 'x', { 'content-type': 'text/csv' })).status).toBe(415);
    expect((await send(door, '/v1/traces', '{"resourceSpans":', {})).status).toBe(400);
    expect((await send(door, '/v1/ingest', bad)).status).toBe(200);
    expect(kindsOf(await read(door))).toEqual([
      { door: '/v1/ingest', code: 'invalid_id', signal: 'spans', field: 'span_id', count: 2 },
      { door: '/v1/ingest', code: 'invalid_id', signal: 'spans', field: 'trace_id', count: 4 },
      { door: '/v1/traces', code: 'invalid_body', count: 1 },
      { door: '/v1/ingest', code: 'unsupported_media_type', count: 1 },
    ]);
  });

  it('hold nothing that a sender wrote', async () => {
    const door = await open();
    await send(
      door,
      '/v1/ingest',
      JSON.stringify({ aspect_notes: [{ [SECRET]: 1, trace_id: 'a'.repeat(32), aspect: 'a', text: 't' }] }),
    );
    await send(door, '/v1/ingest', JSON.stringify({ spans: [{ name: SECRET, trace_id: SECRET }] }));
    await send(door, '/v1/ingest', 'x', { 'content-type': `text/${SECRET}` });
    await send(door, `/v1/ingest?${SECRET}=1`, 'x', { 'content-encoding': SECRET });
    const { body } = await read(door);
    expect(body.refusals.length).toBeGreaterThan(2);
    expect(JSON.stringify(body)).not.toContain(SECRET);
  });

  it('name a missing and a wrong key, and are read with an admin key of every project alone', async () => {
    const door = await open({
      keys: { topLevel: { ingest: ['sender'], admin: ['root'] }, projects: { a: { admin: ['of-a'] } } },
    });
    expect((await send(door, '/v1/ingest', '{}')).status).toBe(401);
    expect((await send(door, '/v1/ingest', '{}', { 'x-svc-key': 'root' })).status).toBe(403);
    expect(kindsOf(await read(door, 'root'))).toEqual([
      { door: '/v1/ingest', code: 'forbidden', count: 1 },
      { door: '/v1/ingest', code: 'unauthorized', count: 1 },
    ]);
    for (const key of [undefined, 'sender', 'of-a']) expect((await read(door, key)).status).toBeGreaterThanOrEqual(401);
  });

  it('are those of 200 kinds: the one that grew longest ago is forgotten first, and that is said', () => {
    let now = 0n;
    const log = createRefusalLog(() => now++);
    for (let door = 0; door < 200; door += 1) log.note(`/door/${door}`, { code: 'invalid_body' });
    log.note('/door/0', { code: 'invalid_body' });
    expect([log.list().groups.length, log.list().forgotten]).toEqual([200, 0]);
    log.note('/door/200', { code: 'invalid_body' });
    const { groups, forgotten } = log.list();
    expect([groups.length, forgotten]).toEqual([200, 1]);
    expect(groups.map(({ door }) => door)).not.toContain('/door/1');
    expect(groups[1]).toMatchObject({ door: '/door/0', count: 2 });
  });
});
