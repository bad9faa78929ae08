import type { Row } from '../../signals/rows/columns.ts';
import { type BlockEntry, openBody, type PayloadRecord, readIndex, recordIn, rowIn } from './payload-block.ts';
import type { Statements } from './statements.ts';
import type { SearchRow } from './wire.ts';

/** Blocks that a reader keeps, for spans that are asked for next to each other: so many, and so many bytes of them, open. */
const KEPT_BLOCKS = 64;
const KEPT_BYTES = 8 * 1024 * 1024;

export type StoredBlock = {
  readonly block: number;
  readonly firstPart: number;
  readonly parts: number;
  readonly entries: readonly BlockEntry[];
};
type KeptBlock = StoredBlock & { readonly last: number; body?: Buffer };

/** Reads payloads, wherever they stand: in a row of their own, or in a block. */
export type PayloadReader = {
  /** The columns of `span_payloads` after the number; `undefined` when nothing is kept of the span. */
  find(span: number): Row | undefined;
  /** Input and output as they are stored. */
  findTexts(span: number): [forms: number, input: string | null, output: string | null] | undefined;
  hasText(span: number): boolean;
  /** Bytes of an answer that the payloads of a span take, but for the marks around them. Opens no block. */
  weigh(span: number): number;
  /** Spans with text beyond a number, in their order, but for those that are gone. */
  textsAfter(span: number, limit: number): SearchRow[];
  /** The highest number of a span whose payloads are kept. */
  lastSpan(): number;
  /** The block in whose stretch of numbers a span lies, whether or not it holds it. */
  blockOf(span: number): StoredBlock | undefined;
  records(block: StoredBlock): PayloadRecord[];
};

const WEIGHT = [
  ...['input', 'output'].map(
    (column) => `coalesce(octet_length(${column}), 0) * (1 + (${column}_attribute IS NOT NULL))`,
  ),
  ...['attributes', 'events', 'links', 'error_stack', 'error_message'].map(
    (column) => `coalesce(octet_length(${column}), 0)`,
  ),
].join(' + ');

type BlockRow = [block: number, spans: Buffer, firstPart: number, parts: number];
const BLOCK = 'SELECT block, spans, first_part, parts FROM payload_blocks';

/** @returns a reader for one state of the file: it is not used beyond the transaction in which it was made */
export const payloadReaderOf = (statements: Statements): PayloadReader => {
  const inRow = statements.raw<Row>(
    `SELECT forms, input, input_attribute, output, output_attribute, attributes, events, links, error_stack, error_message
     FROM span_payloads WHERE span = ?`,
  );
  /** The block that was asked for last stands last. */
  let kept: KeptBlock[] = [];
  let keptBytes = 0;
  let isWithBlocks: boolean | undefined;

  /** `doctor` also reads files that a start has not brought forward yet. */
  const hasBlocks = (): boolean => {
    isWithBlocks ??= statements.pluck(`SELECT 1 FROM sqlite_schema WHERE name = 'payload_blocks'`).get() !== undefined;
    return isWithBlocks;
  };
  const drop = (block: KeptBlock): void => {
    keptBytes -= block.body?.length ?? 0;
  };
  const keep = ([block, spans, firstPart, parts]: BlockRow): KeptBlock => {
    const entries = readIndex(block, spans);
    const found: KeptBlock = { block, firstPart, parts, entries, last: entries.at(-1)?.span ?? block };
    kept.push(found);
    while (kept.length > KEPT_BLOCKS) drop(kept.shift() as KeptBlock);
    return found;
  };
  /** Among the blocks at hand. */
  const atHand = (span: number): KeptBlock | undefined => {
    for (let i = kept.length - 1; i >= 0; i--) {
      const block = kept[i] as KeptBlock;
      if (span < block.block || span > block.last) continue;
      if (i < kept.length - 1) {
        kept.splice(i, 1);
        kept.push(block);
      }
      return block;
    }
    return undefined;
  };
  const inFile = (span: number): KeptBlock | undefined => {
    if (!hasBlocks()) return undefined;
    const row = statements.raw<BlockRow>(`${BLOCK} WHERE block <= ? ORDER BY block DESC LIMIT 1`).get(span);
    const known = row === undefined ? undefined : kept.find(({ block }) => block === row[0]);
    const block = known ?? (row && keep(row));
    return block !== undefined && span <= block.last ? block : undefined;
  };
  const entryIn = (block: KeptBlock | undefined, span: number): [KeptBlock, BlockEntry] | undefined => {
    if (block === undefined) return undefined;
    let [low, high] = [0, block.entries.length - 1];
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const entry = block.entries[middle] as BlockEntry;
      if (entry.span === span) return [block, entry];
      if (entry.span < span) low = middle + 1;
      else high = middle - 1;
    }
    return undefined;
  };
  const open = (block: KeptBlock): Buffer => {
    if (block.body !== undefined) return block.body;
    const pieces = statements
      .pluck<Buffer>('SELECT bytes FROM payload_parts WHERE part >= ? AND part < ? ORDER BY part')
      .all(block.firstPart, block.firstPart + block.parts);
    const body = openBody(Buffer.concat(pieces), block.entries);
    block.body = body;
    keptBytes += body.length;
    const others = kept.filter((other) => other !== block);
    while (keptBytes > KEPT_BYTES && others.length > 0) drop(others.shift() as KeptBlock);
    kept = [...others, block];
    return body;
  };
  /** A row of its own is looked for only where no block at hand holds the span. */
  const locate = <T>(
    span: number,
    fromBlock: (block: KeptBlock, entry: BlockEntry) => T,
    fromRow: () => T | undefined,
  ): T | undefined => {
    const near = entryIn(atHand(span), span);
    if (near !== undefined) return fromBlock(...near);
    const own = fromRow();
    if (own !== undefined) return own;
    const far = entryIn(inFile(span), span);
    return far && fromBlock(...far);
  };

  const reader: PayloadReader = {
    find: (span) =>
      locate(
        span,
        (block, entry) => rowIn(open(block), entry),
        () => inRow.get(span),
      ),
    findTexts: (span) => {
      const row = reader.find(span);
      if (row === undefined) return undefined;
      const [forms, input, , output] = row as [number, string | null, string | null, string | null];
      return [forms, input, output];
    },
    hasText: (span) =>
      locate(
        span,
        (_, { hasText }) => hasText,
        () => {
          const found = statements
            .pluck<number>('SELECT input IS NOT NULL OR output IS NOT NULL FROM span_payloads WHERE span = ?')
            .get(span);
          return found === undefined ? undefined : found === 1;
        },
      ) ?? false,
    weigh: (span) =>
      locate(
        span,
        (_, { bytes, repeated }) => bytes + repeated,
        () => statements.pluck<number>(`SELECT ${WEIGHT} FROM span_payloads WHERE span = ?`).get(span),
      ) ?? 0,
    textsAfter: (after, limit) => {
      const found = statements
        .raw<SearchRow>(
          `SELECT l.span, l.forms, l.input, l.output FROM span_payloads AS l
           WHERE l.span > ? AND (l.input IS NOT NULL OR l.output IS NOT NULL)
             AND NOT EXISTS (SELECT 1 FROM pending_erasures AS e WHERE e.span = l.span) ORDER BY l.span LIMIT ?`,
        )
        .all(after, limit);
      if (!hasBlocks()) return found;
      const isGone = statements.pluck('SELECT 1 FROM pending_erasures WHERE span = ?');
      const following = statements.raw<BlockRow>(`${BLOCK} WHERE block > ? ORDER BY block LIMIT 1`);
      const next = (block: number): KeptBlock | undefined => {
        const row = following.get(block);
        return row && keep(row);
      };
      const inBlocks: SearchRow[] = [];
      for (
        let block = atHand(after) ?? inFile(after) ?? next(after);
        block !== undefined && inBlocks.length < limit;
        block = next(block.block)
      )
        for (const entry of block.entries) {
          if (entry.span <= after || !entry.hasText || isGone.get(entry.span) !== undefined) continue;
          const [forms, input, , output] = rowIn(open(block), entry) as [number, string | null, null, string | null];
          inBlocks.push([entry.span, forms, input, output]);
        }
      return [...found, ...inBlocks].sort(([a], [b]) => a - b).slice(0, limit);
    },
    lastSpan: () => {
      const own = statements.pluck<number | null>('SELECT max(span) FROM span_payloads').get() ?? 0;
      const row = hasBlocks() ? statements.raw<BlockRow>(`${BLOCK} ORDER BY block DESC LIMIT 1`).get() : undefined;
      return Math.max(own, row === undefined ? 0 : keep(row).last);
    },
    blockOf: (span) => atHand(span) ?? inFile(span),
    records: (block) => {
      const body = open(block as KeptBlock);
      return block.entries.map((entry) => recordIn(body, entry));
    },
  };
  return reader;
};
