import { playEpisode } from './episode.ts';
import { planted } from './unsafe-store.ts';

const option = (name: string): string | undefined => {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? undefined : process.argv[at + 1];
};
const number = (name: string, otherwise: number): number => Number(option(name) ?? otherwise);

const first = number('seed', Math.trunc(Math.random() * 2 ** 31));
const episodes = number('episodes', 1);
const deadline = performance.now() + number('minutes', 60) * 60_000;
const plant = planted.find((one) => one === option('plant'));
const from = performance.now();
const sum = {
  episodes: 0,
  simulatedMs: 0,
  runs: 0,
  attempts: 0,
  entries: 0,
  calls: 0,
  timers: 0,
  restarts: 0,
  storeFaults: 0,
  clockJumps: 0,
  signals: 0,
  erased: 0,
  resent: 0,
};
console.log(`seed ${first}`);
for (let seed = first; seed < first + episodes && performance.now() < deadline; seed += 1) {
  const report = await playEpisode({
    seed,
    troubleMs: number('trouble-minutes', 30) * 60_000,
    ...(plant === undefined ? {} : { plant }),
  });
  sum.episodes += 1;
  for (const name of [
    'simulatedMs',
    'runs',
    'attempts',
    'entries',
    'calls',
    'timers',
    'restarts',
    'storeFaults',
    'clockJumps',
    'signals',
    'erased',
    'resent',
  ] as const)
    sum[name] += report[name];
}
const { simulatedMs, ...counts } = sum;
console.log(
  JSON.stringify({
    ...counts,
    simulatedHours: Math.round(simulatedMs / 36_000) / 100,
    seconds: Math.round((performance.now() - from) / 10) / 100,
  }),
);
process.exit(0);
