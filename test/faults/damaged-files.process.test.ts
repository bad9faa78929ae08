import { afterAll, expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { damageFiles } from './damaged-files.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

it('on damaged files the doctor names what SQLite finds, and the service starts or refuses in words, and answers no 500', async () => {
  const figures = await damageFiles({ files: 6, seed: 2, folder: folder.path });
  expect(figures.served + figures.refused).toBe(6);
  expect(figures.answers['200']).toBeGreaterThan(0);
});
