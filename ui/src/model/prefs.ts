import type { Zone } from './units.ts';
import { formatQuery, keepShared, type Params, parseQuery } from './url.ts';

/** What a reader likes. It is kept by the browser, under a version; an address says nothing of it and changes nothing of it. */
export type Prefs = {
  readonly version: 1;
  readonly theme: 'system' | 'light' | 'dark';
  readonly zone: Zone;
  readonly density: 'normal' | 'compact';
  /** How often lists ask again; 0 is never. */
  readonly pollSeconds: number;
  /** Single keys as commands, which some input devices press by themselves. */
  readonly shortcuts: boolean;
  /** How a page opens from the rail: its path, and the query string of that view. A link opens what it says. */
  readonly homes: Readonly<Record<string, string>>;
};

export const DEFAULT_PREFS: Prefs = {
  version: 1,
  theme: 'system',
  zone: 'local',
  density: 'normal',
  pollSeconds: 5,
  shortcuts: true,
  homes: {},
};

const oneOf = <T>(words: readonly T[], value: unknown, otherwise: T): T =>
  words.find((word) => word === value) ?? otherwise;

const MAX_POLL_SECONDS = 3600;

const MAX_HOMES = 50;
const MAX_QUERY_CHARACTERS = 2000;

const parseHomes = (given: unknown): Prefs['homes'] => {
  if (typeof given !== 'object' || given === null) return {};
  const homes = Object.entries(given).filter(
    (entry): entry is [string, string] =>
      entry[0].startsWith('/') && typeof entry[1] === 'string' && entry[1].length <= MAX_QUERY_CHARACTERS,
  );
  return Object.fromEntries(homes.slice(0, MAX_HOMES));
};

/**
 * What an address says of its page alone, as the default view of that page: project, time and environment go along from page to page, and
 * a row that was peeked at is gone tomorrow.
 * @returns with the `?`, or nothing
 */
export const homeOf = (search: string): string => {
  const { peek: _peek, ...params } = parseQuery(search);
  const elsewhere = Object.keys(keepShared(params));
  return formatQuery(Object.fromEntries(Object.entries(params).filter(([name]) => !elsewhere.includes(name))));
};

/** The parameters with which a page opens from the rail. */
export const paramsOfHome = ({ homes }: Prefs, path: string): Params =>
  Object.hasOwn(homes, path) ? parseQuery(homes[path] ?? '') : {};

/** @param stored text that some release or somebody else left behind; what is not understood is the default */
export const parsePrefs = (stored: string | null): Prefs => {
  let given: Record<string, unknown> = {};
  try {
    const parsed: unknown = JSON.parse(stored ?? '{}');
    if (typeof parsed === 'object' && parsed !== null) given = parsed as Record<string, unknown>;
  } catch {
    return DEFAULT_PREFS;
  }
  if (given['version'] !== 1) return DEFAULT_PREFS;
  const poll = given['pollSeconds'];
  return {
    version: 1,
    theme: oneOf(['system', 'light', 'dark'] as const, given['theme'], DEFAULT_PREFS.theme),
    zone: oneOf(['local', 'utc'] as const, given['zone'], DEFAULT_PREFS.zone),
    density: oneOf(['normal', 'compact'] as const, given['density'], DEFAULT_PREFS.density),
    pollSeconds:
      typeof poll === 'number' && Number.isFinite(poll) && poll >= 0 && poll <= MAX_POLL_SECONDS
        ? poll
        : DEFAULT_PREFS.pollSeconds,
    shortcuts: given['shortcuts'] !== false,
    homes: parseHomes(given['homes']),
  };
};
