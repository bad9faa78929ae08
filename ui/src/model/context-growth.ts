import { canonicalJson } from './compare.ts';
import { readConversation, type Turn } from './conversation.ts';
import { type CostReceipt, savedByCache } from './receipt.ts';
import type { Span, TraceRows } from './trace.ts';

/** A call of a model, as far as its context is known. */
export type ModelCall = {
  readonly row: number;
  /** Tokens that the model read; nothing where nobody counted. */
  readonly tokens: number | undefined;
  /** Of them from the cache, and written to it; nothing where nobody counted. */
  readonly cached: number | undefined;
  readonly written: number | undefined;
  /** Against the call before it that was counted. */
  readonly grewBy: number | undefined;
};

/**
 * The calls of models of a trace, in the order of their start. Where cached tokens are more than the input count, the sender counts
 * them apart, as pricing takes it, and the context is both.
 */
export const modelCalls = (rows: TraceRows): readonly ModelCall[] => {
  const order = [...rows.spans.keys()]
    .filter((row) => rows.spans[row]?.kind === 'model_generation')
    .toSorted((a, b) => (rows.start[a] ?? 0) - (rows.start[b] ?? 0) || a - b);
  let before: number | undefined;
  return order.map((row) => {
    const usage = rows.spans[row]?.usage;
    const details = usage?.input_details;
    const cached = details?.cache_read;
    const { cache_write: all, cache_write_5m: short, cache_write_1h: long } = details ?? {};
    const isWritten = all !== undefined || short !== undefined || long !== undefined;
    const written = isWritten ? Math.max(all ?? 0, (short ?? 0) + (long ?? 0)) : undefined;
    const apart = (cached ?? 0) + (written ?? 0);
    const input = usage?.input_tokens;
    const tokens = input === undefined ? undefined : apart > input ? input + apart : input;
    const grewBy = tokens === undefined || before === undefined ? undefined : tokens - before;
    before = tokens ?? before;
    return { row, tokens, cached, written, grewBy };
  });
};

/** A message, once, with the calls that carry it. */
export type SeenMessage = { readonly turn: Turn; readonly calls: readonly number[] };

export type Growth = {
  readonly messages: readonly SeenMessage[];
  /** By call, in the order given: how many of its messages were sent before, and what is new. */
  readonly calls: readonly {
    readonly row: number;
    /** Nothing of it is known where its input is no list of messages. */
    readonly repeated: number | undefined;
    readonly fresh: number | undefined;
    readonly savedByCache: number | undefined;
    /** Where the new part comes from, the largest first. */
    readonly sources: readonly Source[];
  }[];
};
export type Source = { readonly name: string; readonly characters: number };

/** Who said it: the role, and of a result the tool. */
const sourceOf = ({ role, parts }: Turn): string => {
  const result = parts.find((part) => part.kind === 'result');
  return result?.kind === 'result' && result.name !== undefined ? `${role} ${result.name}` : role;
};
const charactersOf = ({ parts }: Turn): number => parts.reduce((sum, { text }) => sum + text.length, 0);

/**
 * What each call sent anew. A message is the same when its role and its parts are; sent twice in one call it counts twice.
 * @param calls in their order, each with its span and how its cost came about
 */
export const contextGrowth = (
  calls: readonly { readonly row: number; readonly span: Span; readonly receipt: CostReceipt | undefined }[],
): Growth => {
  const seen = new Map<string, { turn: Turn; calls: number[] }>();
  const counted = calls.map(({ row, span, receipt }) => {
    const turns = readConversation(span.input);
    const saved = receipt === undefined ? undefined : savedByCache(receipt);
    if (turns === undefined) return { row, repeated: undefined, fresh: undefined, savedByCache: saved, sources: [] };
    const inThis = new Map<string, number>();
    const sources = new Map<string, number>();
    let repeated = 0;
    for (const turn of turns) {
      const text = canonicalJson({ role: turn.role, parts: turn.parts });
      const times = (inThis.get(text) ?? 0) + 1;
      inThis.set(text, times);
      const key = `${times} ${text}`;
      const before = seen.get(key);
      if (before === undefined) {
        seen.set(key, { turn, calls: [row] });
        const source = sourceOf(turn);
        sources.set(source, (sources.get(source) ?? 0) + charactersOf(turn));
      } else {
        before.calls.push(row);
        repeated += 1;
      }
    }
    return {
      row,
      repeated,
      fresh: turns.length - repeated,
      savedByCache: saved,
      sources: [...sources]
        .map(([name, characters]) => ({ name, characters }))
        .toSorted((a, b) => b.characters - a.characters),
    };
  });
  return { messages: [...seen.values()], calls: counted };
};

/** Where the context of all calls comes from, the largest first. */
export const allSources = ({ calls }: Growth): readonly Source[] => {
  const sums = new Map<string, number>();
  for (const { sources } of calls)
    for (const { name, characters } of sources) sums.set(name, (sums.get(name) ?? 0) + characters);
  return [...sums].map(([name, characters]) => ({ name, characters })).toSorted((a, b) => b.characters - a.characters);
};
