/**
 * Opens many connections from one address that ask for nothing, and others that send half of a head; then a client from another address
 * asks. Says how many connections the service kept, how long that client and one of the same address waited, and when the last of the
 * half heads was cut. Run as a command: `node test/faults/idle-connections.ts --idle 10000 --heads 1000`.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startDaemon, temporaryFolder } from '../daemon.ts';
import { eventually } from '../eventually.ts';
import { peakMebibytes } from './figures.ts';

const ONE = '127.0.0.1';
const OTHER = '127.0.0.2';
/** Connections that are begun together: the system keeps no more for a process that is about to take them. */
const AT_ONCE = 250;

type Asked = { readonly status: number; readonly ms: number };
export type IdleFigures = {
  /** Idle connections that were not cut. */
  readonly kept: number;
  /** From the other address at once and a second later, from the same address, and from the other one beside half heads. */
  readonly first: Asked;
  readonly later: Asked;
  readonly same: Asked;
  readonly beside: Asked;
  readonly headsMs: number;
  readonly peakMebibytes: number;
  readonly exit: number | null;
};

export const idleConnections = async (options: {
  readonly idle: number;
  readonly heads: number;
  readonly folder: string;
}): Promise<IdleFigures> => {
  const daemon = await startDaemon(options.folder);
  const { hostname, port } = new URL(daemon.url);

  /** Connections from one address, each with these bytes sent; and how many of them are closed by now. */
  const open = async (
    count: number,
    bytes: string,
  ): Promise<{ readonly closed: () => number; readonly end: () => void }> => {
    const sockets: Socket[] = [];
    let closed = 0;
    for (let from = 0; from < count; from += AT_ONCE) {
      const batch = Array.from({ length: Math.min(AT_ONCE, count - from) }, () =>
        connect({ port: Number(port), host: hostname, localAddress: ONE }),
      );
      await Promise.all(
        batch.map(
          (socket) =>
            new Promise<void>((resolve) => {
              socket.on('error', () => {});
              socket.on('close', () => {
                closed += 1;
                resolve();
              });
              socket.on('connect', () => {
                if (bytes !== '') socket.write(bytes);
                resolve();
              });
              socket.resume();
            }),
        ),
      );
      sockets.push(...batch);
    }
    return { closed: () => closed, end: () => sockets.forEach((socket) => socket.destroy()) };
  };
  const ask = (localAddress: string): Promise<Asked> =>
    new Promise((resolve, reject) => {
      const from = performance.now();
      let text = '';
      connect({ port: Number(port), host: hostname, localAddress })
        .on('data', (bytes) => (text += String(bytes)))
        .on('error', reject)
        .on('close', () => resolve({ status: Number(text.split(' ')[1]), ms: Math.round(performance.now() - from) }))
        .write('GET /v1/api/traces HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
    });

  try {
    const idle = await open(options.idle, '');
    const first = await ask(OTHER);
    await sleep(1000);
    const later = await ask(OTHER);
    const same = await ask(ONE);
    const kept = options.idle - idle.closed();
    idle.end();
    const begun = performance.now();
    const heads = await open(options.heads, 'GET /v1/api/traces HTTP/1.1\r\nhost: local');
    const beside = await ask(OTHER);
    await eventually('every half head to be cut', () => heads.closed() === options.heads);
    const headsMs = Math.round(performance.now() - begun);
    const peak = peakMebibytes(daemon.process.pid);
    const exit = await daemon.stop();
    return { kept, first, later, same, beside, headsMs, peakMebibytes: peak, exit };
  } finally {
    await daemon.stop('SIGKILL');
  }
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: { idle: { type: 'string', default: '10000' }, heads: { type: 'string', default: '1000' } },
  });
  const folder = temporaryFolder();
  try {
    const figures = await idleConnections({
      idle: Number(values.idle),
      heads: Number(values.heads),
      folder: folder.path,
    });
    console.log(JSON.stringify(figures));
    const { first, later, same, beside, exit } = figures;
    if ([first, later, same, beside].some(({ status }) => status !== 200) || exit !== 0) process.exitCode = 1;
  } finally {
    folder.remove();
  }
}
