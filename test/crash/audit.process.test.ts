import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';
import { eventually } from '../eventually.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const open = async (folder: string, flags: readonly string[]): Promise<Daemon> => {
  const daemon = await startDaemon(folder, flags);
  cleanups.push(() => daemon.stop());
  return daemon;
};
const ask = async ({ url }: Daemon, path: string): Promise<Response> => {
  const response = await fetch(url + path);
  await response.arrayBuffer();
  return response;
};

const SENDERS = 2;

/** Keeps the writing thread busy with batches of 200 spans, until it is told to stop. */
const sendSpans = ({ url }: Daemon) => {
  let goesOn = true;
  let sent = 0;
  const answered = Array.from({ length: SENDERS }, () => 0);
  const send = async (sender: number): Promise<void> => {
    while (goesOn) {
      sent += 1;
      const spans = Array.from({ length: 200 }, (_, n) => ({
        ...{
          trace_id: (sent * 1000 + n + 1).toString(16).padStart(32, '0'),
          span_id: (n + 1).toString(16).padStart(16, '0'),
        },
        ...{
          name: 'chat',
          kind: 'generic',
          status: 'ok',
          start_time: new Date().toISOString(),
          input: `words of ${n} `.repeat(20),
        },
      }));
      await fetch(`${url}/v1/ingest`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ spans }),
      }).then((response) => response.arrayBuffer());
      answered[sender] = (answered[sender] ?? 0) + 1;
    }
  };
  const senders = Promise.allSettled(answered.map((_, sender) => send(sender)));
  return {
    /** Resolves when so many more batches of one sender are answered, each of which it sent after the answer to the one before. */
    batches: async (count: number): Promise<void> => {
      const before = [...answered];
      await eventually('batches that are answered', () => answered.some((now, n) => now >= (before[n] ?? 0) + count));
    },
    stop: async (): Promise<void> => {
      goesOn = false;
      await senders;
    },
  };
};

const auditedProjects = async (daemon: Daemon): Promise<string[]> => {
  const projects: string[] = [];
  for (let cursor = '', page = 0; page < 20; page += 1) {
    const response = await fetch(`${daemon.url}/v1/api/audit?project=*&limit=1000${cursor}`);
    const body = (await response.json()) as { entries: { project: string }[]; next_cursor?: string };
    projects.push(...body.entries.map(({ project }) => project));
    if (body.next_cursor === undefined) return projects;
    cursor = `&cursor=${body.next_cursor}`;
  }
  throw new Error('the list does not end');
};

/** Rows of the audit log that are in the file. Asking the service would make it write them. */
const writtenRows = (folder: string): number => {
  const file = new Database(join(folder, 'svc.db'), { readonly: true });
  try {
    return file.prepare<[], number>('SELECT count(*) FROM audit').pluck().get() ?? 0;
  } finally {
    file.close();
  }
};

describe('rows for reads that were answered survive SIGKILL', () => {
  it.each([
    ['sync: also where it comes with the answer, beside ingest', ['--audit', 'sync'], 'at once'],
    ['batched: they are written soon after the answer, by themselves', [], 'once they are written'],
  ] as const)('%s', async (_name, flags, killed) => {
    const folder = temporaryFolder();
    cleanups.push(() => folder.remove());
    const daemon = await open(folder.path, flags);
    const ingest = killed === 'at once' ? sendSpans(daemon) : undefined;
    const asked: string[] = [];
    for (let n = 1; n <= 40; n += 1) {
      const { status } = await ask(daemon, `/v1/api/traces?project=p${n}`);
      if (status === 200) asked.push(`p${n}`);
    }
    if (killed === 'once they are written')
      await eventually('the rows of all answers', () => writtenRows(folder.path) >= asked.length);
    await daemon.stop('SIGKILL');
    await ingest?.stop();

    const again = await open(folder.path, flags);
    const audited = new Set(await auditedProjects(again));
    expect(asked).toHaveLength(40);
    expect(asked.filter((project) => !audited.has(project))).toEqual([]);
  });

  // A row goes to the writing thread right after its answer. When that thread has written what came to it later, the row is written,
  // however slow the machine is.
  it('batched: 100 ms after the answer they are written, while ingest and reads go on', async () => {
    const folder = temporaryFolder();
    cleanups.push(() => folder.remove());
    const daemon = await open(folder.path, []);
    const ingest = sendSpans(daemon);
    await ingest.batches(1);
    const asked = Array.from({ length: 40 }, (_, n) => `p${n + 1}`);
    for (const project of asked) expect((await ask(daemon, `/v1/api/traces?project=${project}`)).status).toBe(200);
    let goesOn = true;
    const later = (async (): Promise<void> => {
      while (goesOn) await ask(daemon, '/v1/api/traces?project=later');
    })().catch(() => {});
    await Promise.all([sleep(100), ingest.batches(3)]);
    await daemon.stop('SIGKILL');
    goesOn = false;
    await Promise.all([later, ingest.stop()]);

    const audited = new Set(await auditedProjects(await open(folder.path, [])));
    expect(asked.filter((project) => !audited.has(project))).toEqual([]);
  });
});
