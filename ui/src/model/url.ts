/**
 * The grammar of addresses. The state of a page stands in its query string, under the very names that the API gives to its
 * parameters, so that page, call and `curl` say the same. Defaults are left out.
 */
export type Field<T> = {
  /** @returns nothing for text that is no such value: a damaged address shows the default */
  parse(text: string): T | undefined;
  format(value: T): string;
  /** What an absent parameter means; without one it is absent in the state, too. */
  readonly fallback?: T;
};

export const text = (): Field<string> => ({ parse: (given) => given, format: (value) => value });

export const number = (): Field<number> => ({
  parse: (given) => (given.trim() !== '' && Number.isFinite(Number(given)) ? Number(given) : undefined),
  format: String,
});

export const flag = (): Field<boolean> => ({
  parse: (given) => (given === 'true' ? true : given === 'false' ? false : undefined),
  format: String,
});

export const oneOf = <const T extends string>(words: readonly T[], fallback?: T): Field<T> => ({
  parse: (given) => words.find((word) => word === given),
  format: (value) => value,
  ...(fallback === undefined ? {} : { fallback }),
});

/** A comma list: ids, columns. */
export const list = (): Field<readonly string[]> => ({
  parse: (given) => given.split(',').filter((part) => part !== ''),
  format: (values) => values.join(','),
});

export type Grammar = { readonly [name: string]: Field<unknown> };
type ValueOf<F> = F extends Field<infer T> ? T : never;
/** The state of a page: what its address says, and the defaults of what it does not say. */
export type StateOf<G extends Grammar> = { readonly [K in keyof G]?: ValueOf<G[K]> | undefined };

export type Params = Readonly<Record<string, string>>;

export const parseState = <G extends Grammar>(grammar: G, params: Params): StateOf<G> => {
  const state: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(grammar)) {
    const given = params[name];
    const value = given === undefined ? undefined : field.parse(given);
    const known = value ?? field.fallback;
    if (known !== undefined) state[name] = known;
  }
  return state as StateOf<G>;
};

/** The parameters that say a state. Empty texts and lists, and defaults, say nothing. */
export const formatState = <G extends Grammar>(grammar: G, state: StateOf<G>): Params => {
  const params: Record<string, string> = {};
  for (const [name, field] of Object.entries(grammar)) {
    const value: unknown = state[name];
    if (value === undefined) continue;
    const said = field.format(value);
    if (said === '' || (field.fallback !== undefined && said === field.format(field.fallback))) continue;
    params[name] = said;
  }
  return params;
};

/** What the bar on top holds: it goes along from page to page. */
export const shared = {
  project: text(),
  from: text(),
  to: text(),
  environment: text(),
} as const satisfies Grammar;

const SHARED_NAMES: readonly string[] = Object.keys(shared);

export const keepShared = (params: Params): Params =>
  Object.fromEntries(Object.entries(params).filter(([name]) => SHARED_NAMES.includes(name)));

export const parseQuery = (query: string): Params => Object.fromEntries(new URLSearchParams(query));

/** @returns with the `?`, or nothing; a colon and a comma stay readable */
export const formatQuery = (params: Params): string => {
  const query = new URLSearchParams(params).toString().replaceAll('%3A', ':').replaceAll('%2C', ',');
  return query === '' ? '' : `?${query}`;
};

/** The call that a page makes, for a shell. The key is named, never written. */
export const asCurl = (origin: string, path: string, params: Params, hasKey: boolean): string => {
  const address = `'${`${origin}${path}${formatQuery(params)}`.replaceAll("'", '%27')}'`;
  return hasKey ? `curl -H "authorization: Bearer $SVC_KEY" ${address}` : `curl ${address}`;
};
