import type { ProviderPrices, Rates } from '../price.ts';

/**
 * Claude's published multiples of the input price: a read from the cache a tenth, a write kept five minutes 1.25, a write
 * kept an hour 2. A write of unnamed life is one of five minutes, which is what the interface does by default.
 */
const claude = (input: number, output: number): Rates => ({
  input,
  output,
  cacheRead: listed(input / 10),
  cacheWrite: listed(input * 1.25),
  cacheWrite5m: listed(input * 1.25),
  cacheWrite1h: listed(input * 2),
});

/** A price as it is printed: 1.1 / 10 is 0.11, not the binary fraction beside it. */
const listed = (price: number): number => Number(price.toFixed(6));

// The oldest Haiku has list prices that are rounded off the multiples.
const haiku3: Rates = { ...claude(0.25, 1.25), cacheRead: 0.03, cacheWrite: 0.3, cacheWrite5m: 0.3 };
const haiku35 = claude(0.8, 4);
const haiku45 = claude(1, 5);
const sonnet = claude(3, 15);
const opus = claude(15, 75);
const opus45 = claude(5, 25);
const fable = claude(10, 50);
/** From the 5.5 generation on a read from the cache costs less than a tenth of the input price. */
const reading = (rates: Rates, cacheRead: number): Rates => ({ ...rates, cacheRead });
const sonnet5 = claude(2, 10);
const first = { input: 8, output: 24 };

/** Ids as each platform spells them: the API's, Vertex AI's `@date`, Bedrock's `-vN:0`. */
const dated: Record<string, { readonly date: string; readonly bedrock: string; readonly rates: Rates }> = {
  'claude-3-haiku': { date: '20240307', bedrock: 'v1:0', rates: haiku3 },
  'claude-3-sonnet': { date: '20240229', bedrock: 'v1:0', rates: sonnet },
  'claude-3-opus': { date: '20240229', bedrock: 'v1:0', rates: opus },
  'claude-3-5-haiku': { date: '20241022', bedrock: 'v1:0', rates: haiku35 },
  'claude-3-5-sonnet': { date: '20240620', bedrock: 'v1:0', rates: sonnet },
  'claude-3-7-sonnet': { date: '20250219', bedrock: 'v1:0', rates: sonnet },
  'claude-sonnet-4': { date: '20250514', bedrock: 'v1:0', rates: sonnet },
  'claude-opus-4': { date: '20250514', bedrock: 'v1:0', rates: opus },
  'claude-opus-4-1': { date: '20250805', bedrock: 'v1:0', rates: opus },
  'claude-sonnet-4-5': { date: '20250929', bedrock: 'v1:0', rates: sonnet },
  'claude-haiku-4-5': { date: '20251001', bedrock: 'v1:0', rates: haiku45 },
  'claude-opus-4-5': { date: '20251101', bedrock: 'v1:0', rates: opus45 },
};

/**
 * Since the 4.5 generation Bedrock charges a tenth more for a regional endpoint or profile than for the global one, which
 * costs what the API costs.
 */
const bedrock: readonly (readonly [tail: string, global: Rates, regional: Rates])[] = [
  ['claude-sonnet-4-5-20250929-v1:0', sonnet, claude(3.3, 16.5)],
  ['claude-haiku-4-5-20251001-v1:0', haiku45, claude(1.1, 5.5)],
  ['claude-opus-4-5-20251101-v1:0', opus45, claude(5.5, 27.5)],
  ['claude-opus-4-6-v1', opus45, claude(5.5, 27.5)],
  ['claude-sonnet-4-6', sonnet, claude(3.3, 16.5)],
  ['claude-opus-4-7', opus45, claude(5.5, 27.5)],
  ['claude-opus-4-8', opus45, claude(5.5, 27.5)],
  ['claude-opus-5', opus45, claude(5.5, 27.5)],
];
const regionalPrefixes = ['anthropic.', 'us.anthropic.', 'eu.anthropic.', 'jp.anthropic.', 'au.anthropic.'];

export const anthropic: ProviderPrices = {
  provider: 'Anthropic',
  source: 'https://platform.claude.com/docs/en/about-claude/pricing',
  models: {
    ...Object.fromEntries(
      Object.entries(dated).flatMap(([id, { date, bedrock: version, rates }]) => [
        [id, rates],
        [`${id}@${date}`, rates],
        [`${id}-${date}-${version}`, rates],
      ]),
    ),
    // Routers spell the versions with a dot, and pass the list price on.
    'claude-3.5-haiku': haiku35,
    'claude-3.5-sonnet': sonnet,
    'claude-3.7-sonnet': sonnet,
    'claude-haiku-4.5': haiku45,
    'claude-sonnet-4.5': sonnet,
    'claude-sonnet-4.6': sonnet,
    'claude-opus-4.1': opus,
    'claude-opus-4.5': opus45,
    'claude-opus-4.6': opus45,
    'claude-opus-4.7': opus45,
    'claude-opus-4.8': opus45,
    'claude-3-haiku-latest': haiku3,
    'claude-3-opus-latest': opus,
    'claude-3-5-haiku-latest': haiku35,
    'claude-3-5-sonnet-latest': sonnet,
    'claude-3-5-sonnet-v2@20241022': sonnet,
    'claude-3-5-sonnet-20241022-v2:0': sonnet,
    'claude-3-7-sonnet-latest': sonnet,
    'claude-sonnet-4-0': sonnet,
    'claude-opus-4-0': opus,
    'claude-opus-4-6': opus45,
    'claude-opus-4-6-v1': opus45,
    'claude-sonnet-4-6': sonnet,
    'claude-opus-4-7': opus45,
    'claude-opus-4-8': opus45,
    'claude-opus-5': opus45,
    'claude-haiku-5-5': claude(0.1, 0.5),
    'claude-sonnet-5': sonnet5,
    'claude-sonnet-5-5': reading(sonnet5, 0.1),
    'claude-opus-5-5': reading(claude(4, 20), 0.2),
    'claude-fable-5-1': reading(fable, 0.25),
    'claude-mythos-5-1': reading(fable, 0.25),
    'claude-fable-5': fable,
    'claude-mythos-5': fable,
    'claude-2': first,
    ...Object.fromEntries(
      bedrock.flatMap(([tail, global, regional]) => [
        [`global.anthropic.${tail}`, global],
        ...regionalPrefixes.map((prefix) => [prefix + tail, regional]),
      ]),
    ),
  },
};
