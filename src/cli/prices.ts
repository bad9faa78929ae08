import { readFileSync } from 'node:fs';
import { builtinPriceBook, priceSources } from '../ingest/price-book.ts';
import type { Rates } from '../ingest/price.ts';
import { EXIT_USAGE } from './exit-status.ts';
import { table } from './table.ts';

export type PricesOptions = {
  /** Lists the models whose id, or whose provider's name, holds this; letter case does not count. */
  readonly filter?: string;
  readonly json?: true;
  /** A file with what `svc prices --json` of another release printed. */
  readonly diff?: string;
};
type PricesIo = PricesOptions & { readonly out: (text: string) => void; readonly err: (line: string) => void };

type Priced = { readonly provider: string; readonly source: string; readonly rates: Rates };
/** A price book as `--json` prints it. */
type PrintedBook = {
  readonly id: string;
  readonly currency: string;
  readonly as_of: string;
  readonly models: Readonly<Record<string, Priced>>;
};

const meters = [
  ['input', 'input'],
  ['output', 'output'],
  ['cacheRead', 'cache_read'],
  ['cacheWrite', 'cache_write'],
  ['cacheWrite5m', 'cache_write_5m'],
  ['cacheWrite1h', 'cache_write_1h'],
  ['audioInput', 'audio_input'],
  ['audioOutput', 'audio_output'],
  ['reasoning', 'reasoning'],
] as const satisfies readonly (readonly [keyof Rates, string])[];

const currentBook = (): PrintedBook => {
  const { id, currency, asOf } = builtinPriceBook;
  const models: Record<string, Priced> = {};
  for (const { provider, source, models: listed } of priceSources)
    for (const [model, rates] of Object.entries(listed)) models[model] = { provider, source, rates };
  return { id, currency, as_of: asOf, models };
};

const isBook = (value: unknown): value is PrintedBook =>
  typeof value === 'object' &&
  value !== null &&
  'as_of' in value &&
  typeof value.as_of === 'string' &&
  'models' in value &&
  typeof value.models === 'object' &&
  value.models !== null;

const readBook = (path: string): PrintedBook | string => {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isBook(value) ? value : `--diff: ${path} does not hold what svc prices --json prints`;
  } catch (error) {
    return `--diff: ${path} cannot be read: ${error instanceof Error ? error.message : 'unknown error'}`;
  }
};

const rateOf = (rates: Rates | undefined, meter: keyof Rates): string =>
  rates?.[meter] === undefined ? '-' : String(rates[meter]);

const list = (book: PrintedBook): string => {
  const shown = meters.filter(([meter]) => meter !== 'cacheWrite5m' && meter !== 'reasoning');
  const rows = Object.entries(book.models).map(([model, { provider, rates }]) => [
    model,
    provider,
    ...shown.map(([meter]) => rateOf(rates, meter)),
  ]);
  return table([['MODEL', 'PROVIDER', ...shown.map(([, name]) => name.toUpperCase())], ...rows]);
};

/** What changed from an older book to this one: a line a model that came or went, a line a rate that changed. */
const differences = (before: PrintedBook, now: PrintedBook): readonly (readonly string[])[] =>
  [...new Set([...Object.keys(before.models), ...Object.keys(now.models)])].toSorted().flatMap((model) => {
    const [old, fresh] = [before.models[model], now.models[model]];
    if (old === undefined) return [['added', model, `input ${rateOf(fresh?.rates, 'input')}`, '']];
    if (fresh === undefined) return [['removed', model, `input ${rateOf(old.rates, 'input')}`, '']];
    return meters.flatMap(([meter, name]) => {
      const [from, to] = [rateOf(old.rates, meter), rateOf(fresh.rates, meter)];
      return from === to ? [] : [['changed', model, name, `${from} -> ${to}`]];
    });
  });

/** Prints the built-in price book, or what changed in it since another release. @returns the exit status */
export const showPrices = ({ filter, json, diff, out, err }: PricesIo): number => {
  const whole = currentBook();
  const wanted = filter?.toLowerCase();
  const models =
    wanted === undefined
      ? whole.models
      : Object.fromEntries(
          Object.entries(whole.models).filter(
            ([model, { provider }]) => model.includes(wanted) || provider.toLowerCase().includes(wanted),
          ),
        );
  const book = { ...whole, models };
  if (diff !== undefined) {
    const before = readBook(diff);
    if (typeof before === 'string') {
      err(`svc: ${before}`);
      return EXIT_USAGE;
    }
    const rows = differences(before, whole);
    out(`${before.as_of} -> ${whole.as_of}: ${rows.length === 0 ? 'no price changed' : `${rows.length} changes`}\n`);
    out(table(rows));
    return 0;
  }
  if (json === true) {
    out(`${JSON.stringify(book, null, 2)}\n`);
    return 0;
  }
  const count = Object.keys(models).length;
  out(`price book ${book.id}, as of ${book.as_of}: ${count} models, ${book.currency} per 1,000,000 tokens\n`);
  out(list(book));
  for (const { provider, source } of priceSources)
    if (Object.values(models).some((model) => model.provider === provider)) out(`${provider}: ${source}\n`);
  return 0;
};
