import { decodeOtlpJson } from '../src/ingest/otlp/json.ts';
import { decodeTracesProtobuf } from '../src/ingest/otlp/protobuf.ts';
import { TraceRequest } from '../test/ingest/otlp/request-codec.ts';
import { median } from './pairs.ts';
import { makeTraceBodies } from './spans.ts';

/**
 * Decode and mapping of 512 realistic spans, against what a library needs to decode the same bytes, in alternation in
 * one run. Run: `node bench/decode.ts`. Prints medians and the two ratios that are goals.
 */
const ROUNDS = 9;
const ROUND_MS = 250;

const bodies = Array.from({ length: 8 }, (_, seed) => {
  // The requests as objects are let go: a large heap would make garbage collection the thing measured.
  const { protobuf, json } = makeTraceBodies(512, seed + 1);
  return { protobuf, json };
});
const context = { receivedAt: 1_790_000_000_000_000_000n, defaultProject: 'default', maxSignals: 10_000 };

const contenders = {
  'protobufjs decode': (i: number) => TraceRequest.decode(bodies[i % 8]?.protobuf as Buffer),
  'JSON.parse': (i: number) => JSON.parse(bodies[i % 8]?.json.toString() as string),
  'protobuf decode + map': (i: number) => decodeTracesProtobuf(bodies[i % 8]?.protobuf as Buffer, context),
  'JSON decode + map': (i: number) => decodeOtlpJson('traces', bodies[i % 8]?.json as Buffer, context),
} satisfies Record<string, (i: number) => unknown>;

/** Milliseconds a call, over some `ROUND_MS`. */
const timeOf = (run: (i: number) => unknown): number => {
  const from = performance.now();
  let count = 0;
  do {
    for (let i = 0; i < 8; i++) run(i);
    count += 8;
  } while (performance.now() - from < ROUND_MS);
  return (performance.now() - from) / count;
};

const times = new Map<string, number[]>();
for (let round = 0; round <= ROUNDS; round++)
  for (const [name, run] of Object.entries(contenders)) {
    const milliseconds = timeOf(run);
    // The first round warms up.
    if (round > 0) times.set(name, [...(times.get(name) ?? []), milliseconds]);
  }

const medians = new Map([...times].map(([name, list]) => [name, median(list)]));
const ms = (name: keyof typeof contenders): number => medians.get(name) as number;
console.log(`512 spans: ${bodies[0]?.protobuf.length} bytes of protobuf, ${bodies[0]?.json.length} of JSON`);
for (const [name, value] of medians)
  console.log(`${name.padEnd(24)} ${value.toFixed(2)} ms  ${Math.round(512 / value)} spans/ms`);
console.log(
  `protobufjs alone / our decode + map: ${(ms('protobufjs decode') / ms('protobuf decode + map')).toFixed(2)}x (floor 1, aim 2)`,
);
console.log(
  `JSON door against protobuf door: ${(ms('protobuf decode + map') / ms('JSON decode + map')).toFixed(2)}x (floor 0.7)`,
);
