import type { Row, StoredRow } from '../../signals/rows/columns.ts';
import type { OpenedBlock } from './opened-blocks.ts';
import {
  type BlockEntry,
  DamagedPayloads,
  openBody,
  type PayloadRecord,
  readIndex,
  recordIn,
  rowIn,
  storedRowIn,
  textsIn,
} from './payload-block.ts';
import type { Statements } from './statements.ts';
import type { SearchRow } from './wire.ts';

/** Blocks that are looked through for a span before the file is asked. */
const NEAR_BLOCKS = 64;

/** Reads payloads, wherever they stand: in a row of their own, or in a block. */
export type PayloadReader = {
  /** The columns of `span_payloads` after the number; `undefined` when nothing is kept of the span. */
  find(span: number): Row | undefined;
  /** The same, with input and output as they are stored. */
  findStored(span: number): StoredRow | undefined;
  /** Input and output as they are stored. */
  findTexts(span: number): [forms: number, input: string | null, output: string | null] | undefined;
  hasText(span: number): boolean;
  /** Bytes of an answer that the payloads of a span take, but for the marks around them. Opens no block. */
  weigh(span: number): number;
  /**
   * Spans with text beyond a number, in their order, but for those that are gone and those whose payloads are damaged: so many at the
   * most, and some MiB of text.
   */
  textsAfter(span: number, limit: number): SearchRow[];
  /** The highest number of a span whose payloads are kept. */
  lastSpan(): number;
  /** The block in whose stretch of numbers a span lies, whether or not it holds it. */
  blockOf(span: number): OpenedBlock | undefined;
  records(block: OpenedBlock): PayloadRecord[];
  /** `doctor` also reads files that a start has not brought forward yet. */
  hasBlocks(): boolean;
};

const WEIGHT = [
  ...['input', 'output'].map(
    (column) => `coalesce(octet_length(${column}), 0) * (1 + (${column}_attribute IS NOT NULL))`,
  ),
  ...['attributes', 'events', 'links', 'error_stack', 'error_message'].map(
    (column) => `coalesce(octet_length(${column}), 0)`,
  ),
].join(' + ');

/** Characters of text that are read at once; one text may have more. A payload may be as large as a body. */
export const MOST_CHARACTERS = 8 * 1024 * 1024;

/** The first rows, and up to which span they are all that there are. */
const someOf = (rows: Iterable<SearchRow>, limit: number): { readonly rows: SearchRow[]; readonly upTo: number } => {
  const taken: SearchRow[] = [];
  let characters = 0;
  for (const row of rows) {
    const [span, , input, output] = row;
    taken.push(row);
    characters += (input?.length ?? 0) + (output?.length ?? 0);
    if (taken.length >= limit || characters >= MOST_CHARACTERS) return { rows: taken, upTo: span };
  }
  return { rows: taken, upTo: Number.POSITIVE_INFINITY };
};

type BlockRow = [block: number, spans: Buffer, firstPart: number, parts: number];
const BLOCK = 'SELECT block, spans, first_part, parts FROM payload_blocks';

/** @returns a reader for one state of the file: it is not used beyond the transaction in which it was made */
export const payloadReaderOf = (statements: Statements): PayloadReader => {
  const inRow = statements.raw<Row>(
    `SELECT forms, input, input_attribute, output, output_attribute, attributes, events, links, error_stack, error_message
     FROM span_payloads WHERE span = ?`,
  );
  /** Blocks as this state of the file has them. The one that was asked for last stands last. */
  const near: OpenedBlock[] = [];
  let isWithBlocks: boolean | undefined;

  const hasBlocks = (): boolean => {
    isWithBlocks ??= statements.pluck(`SELECT 1 FROM sqlite_schema WHERE name = 'payload_blocks'`).get() !== undefined;
    return isWithBlocks;
  };
  const keep = ([number, spans, firstPart, parts]: BlockRow): OpenedBlock => {
    let found = statements.blocks.find(number, spans);
    if (found?.firstPart !== firstPart) {
      const entries = readIndex(number, spans);
      found = { block: number, index: spans, entries, last: entries.at(-1)?.span ?? number, firstPart, parts };
      statements.blocks.add(found);
    }
    near.push(found);
    if (near.length > NEAR_BLOCKS) near.shift();
    return found;
  };
  /** Among the blocks at hand. */
  const atHand = (span: number): OpenedBlock | undefined => {
    for (let i = near.length - 1; i >= 0; i--) {
      const block = near[i] as OpenedBlock;
      if (span < block.block || span > block.last) continue;
      if (i < near.length - 1) {
        near.splice(i, 1);
        near.push(block);
      }
      return block;
    }
    return undefined;
  };
  const inFile = (span: number): OpenedBlock | undefined => {
    if (!hasBlocks()) return undefined;
    const row = statements.raw<BlockRow>(`${BLOCK} WHERE block <= ? ORDER BY block DESC LIMIT 1`).get(span);
    const known = row === undefined ? undefined : near.find(({ block }) => block === row[0]);
    const block = known ?? (row && keep(row));
    return block !== undefined && span <= block.last ? block : undefined;
  };
  const entryIn = (block: OpenedBlock | undefined, span: number): [OpenedBlock, BlockEntry] | undefined => {
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
  const open = (block: OpenedBlock): Buffer => {
    if (block.body !== undefined) return block.body;
    const pieces = statements
      .pluck<Buffer>('SELECT bytes FROM payload_parts WHERE part >= ? AND part < ? ORDER BY part')
      .all(block.firstPart, block.firstPart + block.parts);
    const body = openBody(Buffer.concat(pieces), block.entries);
    statements.blocks.open(block, body);
    return body;
  };
  const openIfSound = (block: OpenedBlock): Buffer | undefined => {
    try {
      return open(block);
    } catch (error) {
      if (error instanceof DamagedPayloads) return undefined;
      throw error;
    }
  };
  /** A row of its own is looked for only where no block at hand holds the span. */
  const locate = <T>(
    span: number,
    fromBlock: (block: OpenedBlock, entry: BlockEntry) => T,
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
    findStored: (span) =>
      locate<StoredRow>(
        span,
        (block, entry) => storedRowIn(open(block), entry),
        () => inRow.get(span),
      ),
    findTexts: (span) =>
      locate(
        span,
        (block, entry) => textsIn(open(block), entry),
        () =>
          statements
            .raw<ReturnType<typeof textsIn>>('SELECT forms, input, output FROM span_payloads WHERE span = ?')
            .get(span),
      ),
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
      const inRows = someOf(
        statements
          .raw<SearchRow>(
            `SELECT l.span, l.forms, l.input, l.output FROM span_payloads AS l
             WHERE l.span > ? AND (l.input IS NOT NULL OR l.output IS NOT NULL)
               AND NOT EXISTS (SELECT 1 FROM pending_erasures AS e WHERE e.span = l.span) ORDER BY l.span`,
          )
          .iterate(after),
        limit,
      );
      if (!hasBlocks()) return inRows.rows;
      const isGone = statements.pluck('SELECT 1 FROM pending_erasures WHERE span = ?');
      const following = statements.raw<BlockRow>(`${BLOCK} WHERE block > ? ORDER BY block LIMIT 1`);
      const next = (block: number): OpenedBlock | undefined => {
        const row = following.get(block);
        return row && keep(row);
      };
      function* textsOfBlocks(): Generator<SearchRow> {
        for (let block = atHand(after) ?? inFile(after) ?? next(after); block !== undefined; block = next(block.block))
          for (const entry of block.entries) {
            if (entry.span <= after || !entry.hasText || isGone.get(entry.span) !== undefined) continue;
            const body = openIfSound(block);
            if (body === undefined) break;
            yield [entry.span, ...textsIn(body, entry)];
          }
      }
      const inBlocks = someOf(textsOfBlocks(), limit);
      const upTo = Math.min(inRows.upTo, inBlocks.upTo);
      return [...inRows.rows, ...inBlocks.rows]
        .filter(([span]) => span <= upTo)
        .sort(([a], [b]) => a - b)
        .slice(0, limit);
    },
    lastSpan: () => {
      const own = statements.pluck<number | null>('SELECT max(span) FROM span_payloads').get() ?? 0;
      const row = hasBlocks() ? statements.raw<BlockRow>(`${BLOCK} ORDER BY block DESC LIMIT 1`).get() : undefined;
      return Math.max(0, own, row === undefined ? 0 : keep(row).last);
    },
    blockOf: (span) => atHand(span) ?? inFile(span),
    records: (block) => {
      const body = open(block);
      return block.entries.map((entry) => recordIn(body, entry));
    },
    hasBlocks,
  };
  return reader;
};
