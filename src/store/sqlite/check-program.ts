/** Body of the process that reads a file for damage: SQLite cannot be stopped in the middle of a check, a process can. */
import { writeSync } from 'node:fs';
import type { CheckLine } from './check-file.ts';
import { openForReading } from './connection.ts';
import { driverCode } from './driver-error.ts';

const CACHE_MIB = 32;
const STDOUT = 1;
const FAULTS = 10;

/** At once: the process may be ended before it comes to anything else. */
const say = (line: CheckLine): void => void writeSync(STDOUT, `${JSON.stringify(line)}\n`);

try {
  const db = openForReading(process.argv[2] ?? '', CACHE_MIB);
  for (const step of ['quick_check', 'integrity_check'] as const) {
    for (const found of db.prepare<[], string>(`PRAGMA ${step}(${FAULTS})`).pluck().iterate())
      if (found !== 'ok') say({ fault: found.split('\n')[0] ?? found });
    say({ ended: step });
  }
  db.close();
} catch (error) {
  const code = driverCode(error);
  if (code === undefined) throw error;
  say({ failed: code });
}
