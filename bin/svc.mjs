#!/usr/bin/env node
// The command. It may be started by any Node from 20 on, while the service itself needs Node 26 (better-sqlite3 13 does
// not load in Node 20), so an older one hands over to the Node that came with the lock file.
import { spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import * as modules from 'node:module'; // whole, because an older Node lacks a name that is used only by a newer one
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REQUIRED_MAJOR = 26;
const HANDED_OVER = 'SVC_HANDED_OVER';

/** Whether `tools/bundle.mjs` ran after the last change of a source or of the lock file. Looking takes five milliseconds. */
const isBundleCurrent = () => {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const changedAt = (...path) => statSync(join(root, ...path)).mtimeMs;
  try {
    const madeAt = changedAt('dist', 'main.js');
    return [
      'package-lock.json',
      'src',
      ...readdirSync(join(root, 'src'), { recursive: true }).map((name) => join('src', name)),
    ].every((path) => changedAt(path) <= madeAt);
  } catch {
    return false;
  }
};

// Memory that a thread frees goes back to the system, and to the other threads: glibc keeps an arena for each otherwise. It reads this once,
// when a process starts.
const ALLOCATOR = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' };

/** Whether this process will be the service, as far as its first word says. */
const isService = () => {
  const first = process.argv[2];
  return first === undefined || first === 'serve' || first.startsWith('-');
};

if (Number(process.versions.node.split('.')[0]) >= REQUIRED_MAJOR) {
  // The process becomes the same one again, with the variables: thirty milliseconds for ten MiB.
  if (
    process.platform === 'linux' &&
    process.env.MALLOC_ARENA_MAX === undefined &&
    process.channel === undefined &&
    isService()
  )
    process.execve(process.execPath, [process.execPath, ...process.execArgv, ...process.argv.slice(1)], {
      ...ALLOCATOR,
      ...process.env,
    });
  // Compiled and type-stripped code is kept, which halves the start and spares each thread the memory of a stripper. It
  // lies beside the installed code, because a user who may write the cache may write the program.
  const { directory } = modules.enableCompileCache(
    fileURLToPath(new URL('../node_modules/.cache/svc', import.meta.url)),
  );
  if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory; // how worker threads learn of it
  if (process.env[HANDED_OVER] !== undefined) {
    delete process.env[HANDED_OVER];
    // SIGKILL for the starter is meant for the service, which must not live on with the lock on its files.
    process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
    process.channel?.unref();
  }
  await import(new URL(isBundleCurrent() ? '../dist/main.js' : '../src/main.ts', import.meta.url).href);
} else {
  const packageName = `node-${process.platform}-${process.arch}`;
  let node;
  try {
    node = modules.createRequire(import.meta.url).resolve(`${packageName}/bin/node`);
  } catch {
    console.error(
      `svc needs Node ${REQUIRED_MAJOR} or later. This is ${process.version}, and ${packageName} is not installed: run npm ci, or start svc with a newer Node.`,
    );
    process.exit(1);
  }
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...ALLOCATOR, ...process.env, [HANDED_OVER]: '1' },
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal ? 128 + (constants.signals[signal] ?? 0) : (code ?? 1)));
}
