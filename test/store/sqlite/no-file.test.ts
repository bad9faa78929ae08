import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openSqliteRunStore } from '../../../src/store/sqlite/runs/open.ts';
import { openSqliteSignalStore } from '../../../src/store/sqlite/signals/open.ts';
import { temporaryFolder } from './temporary-store.ts';

describe('a data path that is no file is refused by name, and left as it is', () => {
  const leave: (() => unknown)[] = [];
  afterEach(async () => {
    for (const step of leave.splice(0).toReversed()) await step();
  });

  const make = {
    'a named pipe': (path: string) => spawnSync('mkfifo', [path]).status === 0,
    'a socket': async (path: string) => {
      const server = createServer().listen(path);
      leave.push(() => server.close());
      await once(server, 'listening');
      return true;
    },
    'a device': (path: string) => spawnSync('mknod', [path, 'c', '1', '3']).status === 0,
  } as const;
  const stores = [
    ['signal store', openSqliteSignalStore],
    ['runs store', openSqliteRunStore],
  ] as const;

  for (const [what, place] of Object.entries(make))
    for (const [store, open] of stores)
      it(`${what} as the file of the ${store}`, async ({ skip }) => {
        const { folder, remove } = temporaryFolder();
        leave.push(remove);
        const path = join(folder, 'svc.db');
        if (!(await place(path))) skip(`this user cannot make ${what} here`);
        const { ino, mode } = lstatSync(path);
        await expect(open({ path })).rejects.toThrow(`${store} ${path}: this is ${what}, not a file`);
        expect(readdirSync(folder)).toEqual(['svc.db']);
        expect(lstatSync(path)).toMatchObject({ ino, mode });
      });
});
