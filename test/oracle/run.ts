import * as fc from 'fast-check';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import { histories, registerAll } from './commands.ts';
import { anyDefinition } from './definitions.ts';
import { createPair } from './pair.ts';

const option = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? otherwise : Number(process.argv[at + 1]);
};
const seed = option('seed', Math.trunc(Math.random() * 2 ** 31));
const from = performance.now();
let played = 0;
let calls = 0;
const seen = new Set<string>();
console.log(`seed ${seed}`);
await fc.assert(
  fc.asyncProperty(anyDefinition, histories(option('length', 100)), async (any, commands) => {
    const pair = await createPair(createMemoryRunStore());
    await registerAll(pair, any);
    played += 1;
    for (const _ of commands) calls += 1;
    try {
      await fc.asyncModelRun(() => ({ model: {}, real: pair }), commands);
    } finally {
      for (const one of pair.engine.seen) seen.add(one);
    }
  }),
  { seed, numRuns: option('histories', 1000), interruptAfterTimeLimit: option('minutes', 10) * 60_000 },
);
console.log(
  JSON.stringify({ histories: played, calls, seen: seen.size, seconds: Math.round((performance.now() - from) / 1000) }),
);
process.exit(0);
