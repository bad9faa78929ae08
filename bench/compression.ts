/**
 * What it would save to keep payloads in compressed blocks, one a batch, and at which speed: input, output, attributes,
 * events and links of realistic spans, as the store holds them. The store does not do this; this is the figure to decide by.
 * Run: `node bench/compression.ts`.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { realisticBatches } from './store-limit.ts';

const ROUNDS = 5;
const { batches, wireBytesPerSpan } = realisticBatches();
const bigintAsText = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);
const blocks = batches.map((batch) =>
  Buffer.from(
    batch.spans
      .map(({ input, output, attributes, events, links }) =>
        JSON.stringify([input, output, attributes, events, links], bigintAsText),
      )
      .join('\n'),
  ),
);
const spans = batches.reduce((sum, batch) => sum + batch.spans.length, 0);
const bytes = blocks.reduce((sum, block) => sum + block.length, 0);
console.log(`payloads: ${(bytes / spans).toFixed(0)} bytes a span, of ${wireBytesPerSpan.toFixed(0)} of protobuf`);

for (const level of [1, 3, 6]) {
  const params = { [constants.ZSTD_c_compressionLevel]: level };
  let packed: Buffer[] = [];
  const packStart = performance.now();
  for (let round = 0; round < ROUNDS; round += 1) packed = blocks.map((block) => zstdCompressSync(block, { params }));
  const packMs = (performance.now() - packStart) / ROUNDS;
  const openStart = performance.now();
  for (let round = 0; round < ROUNDS; round += 1) for (const block of packed) zstdDecompressSync(block);
  const openMs = (performance.now() - openStart) / ROUNDS;
  const packedBytes = packed.reduce((sum, block) => sum + block.length, 0);
  console.log(
    `zstd-${level}, a block a batch: ${(packedBytes / spans).toFixed(0)} bytes a span (${((100 * packedBytes) / bytes).toFixed(0)} %); ` +
      `${((packMs * 1000) / spans).toFixed(1)} µs a span to write, ${(openMs / packed.length).toFixed(2)} ms to open one block of 512`,
  );
}
