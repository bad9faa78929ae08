/**
 * What blocks of payloads save, and at which speed: the payloads of realistic spans, as the store holds them, by themselves and packed
 * into blocks of several sizes; and how long it takes to open a block, which a read of one span does.
 * Run: `node bench/compression.ts`.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { payloadRow } from '../src/store/signals/rows/encode.ts';
import { bodyOf, type PayloadRecord, recordOf } from '../src/store/sqlite/signals/payload-block.ts';
import { realisticBatches } from './store-limit.ts';

const ROUNDS = 5;
const KIB = 1024;
const { batches, wireBytesPerSpan } = realisticBatches(16);
const records = batches.flatMap(({ spans }) => spans.map((span, n) => recordOf(payloadRow(span, n))));
const bytes = records.reduce((sum, record) => sum + record.bytes, 0);
console.log(
  `payloads: ${(bytes / records.length).toFixed(0)} bytes a span, of ${wireBytesPerSpan.toFixed(0)} of protobuf`,
);

/** Records one after the other, until a block has so many bytes. */
const blocksOf = (blockBytes: number): Buffer[] => {
  const blocks: Buffer[] = [];
  let next: PayloadRecord[] = [];
  let held = 0;
  for (const record of records) {
    next.push(record);
    held += record.bytes;
    if (held < blockBytes) continue;
    blocks.push(bodyOf(next));
    next = [];
    held = 0;
  }
  if (next.length > 0) blocks.push(bodyOf(next));
  return blocks;
};

/** Processor time of this process in microseconds, the best of some rounds: others on the machine make it longer, never shorter. */
const best = (work: () => void): number => {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    const from = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(from);
    least = Math.min(least, user + system);
  }
  return least;
};

for (const blockBytes of [1, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB])
  for (const level of [1, 3]) {
    const blocks = blocksOf(blockBytes);
    const params = { [constants.ZSTD_c_compressionLevel]: level };
    let packed: Buffer[] = [];
    const packUs = best(() => {
      packed = blocks.map((block) => zstdCompressSync(block, { params, chunkSize: 64 * KIB }));
    });
    const openUs = best(() => {
      for (const block of packed) zstdDecompressSync(block, { chunkSize: 64 * KIB });
    });
    const kept = packed.reduce((sum, block) => sum + block.length, 0);
    const name = blockBytes === 1 ? 'each by itself' : `blocks of ${blockBytes / KIB} KiB`;
    console.log(
      `zstd-${level}, ${name.padEnd(17)} ${((100 * kept) / bytes).toFixed(1)} % kept, ${(kept / records.length).toFixed(0)} bytes a span; ` +
        `${(packUs / records.length).toFixed(1)} us a span to pack, ${(openUs / packed.length).toFixed(0)} us to open one`,
    );
  }
