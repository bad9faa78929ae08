import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type PricesOptions, showPrices } from '../../src/cli/prices.ts';
import { builtinPriceBook, priceSources } from '../../src/ingest/price-book.ts';

const folder = mkdtempSync(join(tmpdir(), 'prices-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const run = (options: PricesOptions = {}) => {
  let out = '';
  const errors: string[] = [];
  const status = showPrices({ ...options, out: (text) => (out += text), err: (line) => errors.push(line) });
  return { status, out, errors };
};

describe('The price book', () => {
  it('is of this quarter when it is released, and holds 200 models or more, each provider with its source', () => {
    expect(builtinPriceBook.asOf).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(builtinPriceBook.rates.size).toBeGreaterThanOrEqual(200);
    for (const { provider, source, models } of priceSources) {
      expect(source, provider).toMatch(/^https:\/\//);
      expect(Object.keys(models).length, provider).toBeGreaterThan(0);
    }
  });

  it('holds each id once, in lower case, with rates that are prices', () => {
    const ids = priceSources.flatMap(({ models }) => Object.keys(models));
    expect(new Set(ids).size).toBe(ids.length);
    for (const [id, rates] of builtinPriceBook.rates) {
      expect(id).toBe(id.toLowerCase());
      for (const rate of Object.values(rates)) expect(rate, id).toBeGreaterThanOrEqual(0);
      expect(rates.input, id).toBeGreaterThan(0);
    }
  });
});

describe('svc prices', () => {
  it('lists every model with its rates, and names the source of each provider', () => {
    const { status, out } = run();
    expect(status).toBe(0);
    expect(out).toContain(
      `as of ${builtinPriceBook.asOf}: ${builtinPriceBook.rates.size} models, USD per 1,000,000 tokens`,
    );
    expect(out).toMatch(/^gpt-4o-mini +OpenAI +0\.15 +0\.6 +0\.075 +-/m);
    for (const { provider, source } of priceSources) expect(out).toContain(`${provider}: ${source}`);
  });

  it('lists what a filter names: a part of an id, or of a provider, in either case', () => {
    expect(run({ filter: 'gpt-4o-mini' }).out).not.toContain('claude');
    const { out } = run({ filter: 'ANTHROPIC' });
    expect(out).toMatch(/^claude-opus-4-5 /m);
    expect(out).not.toMatch(/^gpt-4o-mini /m);
  });

  it('prints what changed since the book of another release: models that came and went, rates that changed', () => {
    const book = JSON.parse(run({ json: true }).out) as { as_of: string; models: Record<string, { rates: object }> };
    const older = structuredClone(book);
    older.as_of = '2025-01-01';
    delete older.models['gpt-4o-mini'];
    older.models['gone-1'] = { rates: { input: 7, output: 8 } };
    older.models['gpt-4o'] = { rates: { input: 5, output: 10, cacheRead: 1.25 } };
    const path = join(folder, 'older.json');
    writeFileSync(path, JSON.stringify(older));
    const { status, out } = run({ diff: path });
    expect(status).toBe(0);
    expect(out).toContain(`2025-01-01 -> ${builtinPriceBook.asOf}: 3 changes`);
    expect(out).toMatch(/^added +gpt-4o-mini +input 0\.15$/m);
    expect(out).toMatch(/^removed +gone-1 +input 7$/m);
    expect(out).toMatch(/^changed +gpt-4o +input +5 -> 2\.5$/m);
  });

  it('says that no price changed', () => {
    const path = join(folder, 'same.json');
    writeFileSync(path, run({ json: true }).out);
    expect(run({ diff: path }).out).toContain('no price changed');
  });

  it.each([
    ['a file that is not there', 'absent.json', /cannot be read/],
    ['a file that holds something else', 'other.json', /does not hold what svc prices --json prints/],
  ])('refuses %s in one line', (_, name, message) => {
    writeFileSync(join(folder, 'other.json'), '{"a":1}');
    const { status, errors } = run({ diff: join(folder, name) });
    expect(status).toBe(2);
    expect(errors).toEqual([expect.stringMatching(message)]);
  });
});
