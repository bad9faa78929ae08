import { durationOf, firstToShow, type Span, type TraceRows } from './trace.ts';
import { formatCount, formatDuration, formatMoney, plural } from './units.ts';

/** A trace or a span as Markdown, for an assistant, within a number of tokens, and what of it was left out. */
export type Brief = { readonly text: string; readonly tokens: number; readonly cut: readonly string[] };

/** Tokenisers differ; four bytes of English are about one token, and other scripts have more bytes a character. */
const BYTES_PER_TOKEN = 4;
/** Kept for saying what was cut. */
const CUT_TOKENS = 160;
const MAX_CUT_LINES = 8;
const TREE_SHARE = 0.35;
const MAX_NAME = 120;
/** No part of a span is shown by less than this, but for the last one that fits. */
const LEAST_PART_TOKENS = 40;

const encoder = new TextEncoder();

/** About how many tokens a text is. */
export const estimateTokens = (text: string): number => Math.ceil(encoder.encode(text).length / BYTES_PER_TOKEN);

/** The longest head of a text within a number of tokens; no character is cut in two. */
export const headWithin = (text: string, tokens: number): string => {
  const room = Math.max(0, Math.floor(tokens * BYTES_PER_TOKEN));
  const { read } = encoder.encodeInto(text, new Uint8Array(Math.min(room, text.length * 3)));
  return text.slice(0, read);
};

/** One line of a text of a client. */
export const oneLine = (text: string): string => {
  const flat = text.replaceAll(/\s+/g, ' ').trim();
  return flat.length <= MAX_NAME ? flat : `${flat.slice(0, MAX_NAME)}…`;
};

/** A text as a block that it cannot close: the fence is longer than any run of backticks in it. */
export const fenced = (text: string, language: string): string => {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
};

const KIND_ORDER: readonly string[] = [
  'model_generation',
  'tool_call',
  'mcp_tool_call',
  'client_tool_call',
  'agent_run',
];

/**
 * The rows that say most of a trace, the most telling first: the failure at which it opens and the way to it, other failures,
 * models, tools, agents.
 */
export const tellingRows = (rows: TraceRows, most: number): readonly number[] => {
  const chosen = new Set<number>();
  const first = firstToShow(rows);
  for (let at = first; at >= 0 && chosen.size < most; at = rows.parent[at] ?? -1) chosen.add(at);
  for (const row of rows.errors) if (chosen.size < most) chosen.add(row);
  for (const kind of KIND_ORDER)
    for (const [row, span] of rows.spans.entries()) {
      if (chosen.size >= most) break;
      if (span.kind === kind) chosen.add(row);
    }
  for (let row = 0; row < rows.spans.length && chosen.size < most; row += 1) chosen.add(row);
  return [...chosen].filter((row) => rows.isMissing[row] !== 1);
};

const factsOf = (rows: TraceRows, row: number): string => {
  const span = rows.spans[row];
  if (span === undefined) return '';
  const { usage } = span;
  return [
    span.kind,
    span.status === 'unset' ? 'running' : span.status,
    ...(span.is_event ? [] : [formatDuration(durationOf(rows, row))]),
    `starts at ${formatDuration(rows.start[row])}`,
    ...(span.model === undefined ? [] : [oneLine(span.model)]),
    ...(usage?.input_tokens === undefined ? [] : [`${formatCount(usage.input_tokens)} tokens in`]),
    ...(usage?.output_tokens === undefined ? [] : [`${formatCount(usage.output_tokens)} out`]),
    ...(span.cost === undefined ? [] : [formatMoney(span.cost)]),
  ].join(', ');
};

const treeLine = (rows: TraceRows, row: number): string => {
  const span = rows.spans[row];
  const depth = rows.depth[row] ?? 0;
  const indent = depth > 12 ? `${'  '.repeat(12)}(level ${depth + 1}) ` : '  '.repeat(depth);
  const mark = span?.status === 'error' ? '**failed** ' : '';
  return rows.isMissing[row] === 1
    ? `${indent}- (a span that is not stored)`
    : `${indent}- ${mark}${oneLine(span?.name ?? '')} (${span?.kind ?? ''}, ${formatDuration(durationOf(rows, row))})`;
};

/** The tree within a number of tokens: telling rows and the upper levels first, printed in their order. */
const treeWithin = (rows: TraceRows, tokens: number, first: readonly number[]): { text: string; shown: number } => {
  const byDepth = [...rows.spans.keys()].toSorted((a, b) => (rows.depth[a] ?? 0) - (rows.depth[b] ?? 0) || a - b);
  const kept = new Set<number>();
  let room = tokens;
  for (const row of [...first, ...byDepth]) {
    if (kept.has(row)) continue;
    const cost = estimateTokens(`${treeLine(rows, row)}\n`);
    if (cost > room) break;
    room -= cost;
    kept.add(row);
  }
  const shown = [...kept].toSorted((a, b) => a - b);
  return { text: shown.map((row) => treeLine(rows, row)).join('\n'), shown: shown.length };
};

const partsOf = (span: Span): readonly (readonly [title: string, text: string, language: string])[] => {
  const textOf = (value: unknown): readonly [string, string] =>
    typeof value === 'string' ? [value, 'text'] : [JSON.stringify(value, null, 1) ?? '', 'json'];
  const parts: (readonly [string, string, string])[] = [];
  if (span.error !== undefined)
    parts.push([
      'Error',
      [span.error.type, span.error.message, span.error.stack].filter((text) => text !== undefined).join('\n'),
      'text',
    ]);
  if (span.input !== undefined) parts.push(['Input', ...textOf(span.input)]);
  if (span.output !== undefined) parts.push(['Output', ...textOf(span.output)]);
  return parts;
};

type Asked = {
  readonly rows: TraceRows;
  /** Rows to tell in detail, in the order of their weight. */
  readonly order: readonly number[];
  /** Spans with their payloads, by row. */
  readonly full: ReadonlyMap<number, Span>;
  readonly title: string;
  /** Lines below the title. */
  readonly facts: readonly string[];
  readonly budgetTokens: number;
};

/** Writes a brief. Whatever is asked for, it is never longer than the budget. */
export const writeBrief = ({ rows, order, full, title, facts, budgetTokens }: Asked): Brief => {
  const cut: string[] = [];
  const blocks: string[] = [];
  let room = budgetTokens - CUT_TOKENS;
  const put = (block: string): boolean => {
    const cost = estimateTokens(`${block}\n\n`) + 1;
    if (cost > room) return false;
    room -= cost;
    blocks.push(block);
    return true;
  };
  put([`# ${oneLine(title)}`, '', ...facts.map((fact) => `- ${oneLine(fact)}`)].join('\n'));
  const isOne = order.length === 1 && rows.spans.length > 1;
  if (!isOne) {
    const heading = '## Spans\n\n';
    const tree = treeWithin(rows, Math.floor(room * TREE_SHARE) - estimateTokens(heading) - 2, order);
    if (tree.shown > 0) put(heading + tree.text);
    if (tree.shown < rows.spans.length)
      cut.push(`the list of spans: ${formatCount(tree.shown)} of ${formatCount(rows.spans.length)} rows`);
  }
  let untold = 0;
  for (const [place, row] of order.entries()) {
    const span = full.get(row) ?? rows.spans[row];
    if (span === undefined) continue;
    // What a short span leaves goes to those behind it.
    const share = Math.max(Math.floor(room / (order.length - place)), LEAST_PART_TOKENS);
    const head = `## ${oneLine(span.name)}\n\n${factsOf(rows, row)}, span ${span.span_id}`;
    if (room < LEAST_PART_TOKENS || !put(head)) {
      untold += 1;
      continue;
    }
    const parts = partsOf(span);
    if (!full.has(row)) cut.push(`input and output of ${oneLine(span.name)}, which were not read`);
    let left = Math.min(share, room);
    for (const [at, [name, text, language]] of parts.entries()) {
      const frame = estimateTokens(`### ${name}\n\n${fenced('', language)}`) + 8;
      const most = Math.floor(left / (parts.length - at)) - frame;
      // Backticks of the text make its fence longer: the block is measured again as it will stand.
      const shown = most <= 0 ? '' : headWithin(text, most);
      const isCut = shown.length < text.length;
      const block = `### ${name}\n\n${fenced(isCut ? `${shown}…` : shown, language)}`;
      const before = room;
      if ((shown === '' && text !== '') || !put(block)) cut.push(`${name.toLowerCase()} of ${oneLine(span.name)}`);
      else {
        left -= before - room;
        if (isCut)
          cut.push(
            `${name.toLowerCase()} of ${oneLine(span.name)}: ${formatCount(shown.length)} of ${formatCount(text.length)} characters`,
          );
      }
    }
  }
  if (untold > 0) cut.push(`details of ${plural(untold, 'span')}`);
  const others = rows.spans.length - order.length;
  if (!isOne && others > 0) cut.push(`details of ${plural(others, 'span')} that say less`);
  if (cut.length > 0) blocks.push(cutSection(cut, CUT_TOKENS + room));
  const text = `${blocks.join('\n\n')}\n`;
  return { text, tokens: estimateTokens(text), cut };
};

/** What was left out, as the last block. */
export const cutSection = (cut: readonly string[], tokens: number): string => {
  let section = '## Left out to fit';
  for (const [at, line] of cut.entries()) {
    const rest = `\n- and ${plural(cut.length - at, 'more part')}`;
    const next = `${section}\n- ${line}`;
    if (at >= MAX_CUT_LINES || estimateTokens(next + rest) + 2 > tokens)
      return estimateTokens(section + rest) + 1 <= tokens ? section + rest : section;
    section = next;
  }
  return section;
};
