import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { slowReaders } from './slow-readers.ts';

const CLIENTS = 60;
/** However slow the machine is, nobody's answer is cut for the time that reading it takes. */
const flags = ['--request-timeout-seconds', '280'];

const folder = temporaryFolder();
afterEach(() => folder.remove());

describe.skipIf(!existsSync('/proc/self/status'))('sixty clients that ask for a trace of 21 MiB', () => {
  it('and do not read it: those over the budget are refused, others are served, and memory stays under 1 GiB', async () => {
    const figures = await slowReaders({ clients: CLIENTS, seconds: 8, read: false, folder: folder.path });
    expect(figures.answerMebibytes).toBe(21);
    expect(figures.answersRefused).toBeGreaterThan(CLIENTS / 2);
    expect(figures.peakMebibytes).toBeLessThan(1024);
    expect(figures.listsServed).toBeGreaterThan(0);
    expect(figures.batchesTaken).toBeGreaterThan(0);
  });

  it('and read it: each answer is complete or refused with a time to ask again', async () => {
    const figures = await slowReaders({ clients: CLIENTS, seconds: 8, read: true, folder: folder.path, flags });
    expect(figures.read).toBeGreaterThan(0);
    expect(figures.cut).toBe(0);
    expect(figures.refused).toBe(figures.answersRefused - figures.listsRefused);
    expect(figures.peakMebibytes).toBeLessThan(1024);
    expect(figures.listsServed).toBeGreaterThan(0);
  });
});
