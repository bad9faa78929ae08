/**
 * A process to be killed: writes units of four spans until it is killed, eight at once, deletes every tenth, and prints a line for
 * each answer. Its arguments: the data file, and a number that keeps its traces apart from those of other victims.
 */
import { openSqliteSignalStore } from '../../../src/store/sqlite/signals/open.ts';
import { aSpan, aUnit, spanIdOf, T0 } from '../signals/factories.ts';

const path = process.argv[2] ?? '';
const generation = Number(process.argv[3]);
const store = await openSqliteSignalStore({ path });
process.stdout.write('open\n');

let next = 0;
const sender = async (): Promise<void> => {
  for (;;) {
    const n = next++;
    const traceId = `d${generation.toString(16).padStart(7, '0')}${n.toString(16).padStart(24, '0')}`;
    const spans = Array.from({ length: 4 }, (_, i) =>
      aSpan({
        traceId,
        spanId: spanIdOf(i + 1),
        startTime: T0 + BigInt(i),
        input: `common word${generation}x${n}`,
        output: 'lorem ipsum dolor '.repeat(40),
        cost: { totalCost: 0.25, currency: 'USD', isEstimated: true },
      }),
    );
    await store.write(aUnit({ spans }, `key ${generation} ${n}`));
    process.stdout.write(`written ${traceId} word${generation}x${n}\n`);
    if (n % 10 !== 0) continue;
    process.stdout.write(`deleting ${traceId}\n`);
    await store.deleteTraces([traceId], 'all');
    process.stdout.write(`deleted ${traceId}\n`);
  }
};
await Promise.all(Array.from({ length: 8 }, sender));
