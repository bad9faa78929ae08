import { isIP } from 'node:net';
import { type Scope, scopes } from '../model/scope.ts';
import { DEFAULT_DATABASE, DEFAULT_USER, parseUrl } from '../store/clickhouse/address.ts';
import { parseAddress } from '../store/postgres/address.ts';

/** What reading one flag gives: its value, or what is wrong with it, in words that never repeat a secret. */
export type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** JSON Schema of the same value in the config file. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * One row of the table of flags. The command line, the environment, the config file, `svc config` and the README's table
 * are all made from it. `texts` is every occurrence, in order; a flag that holds one value takes the last.
 */
export type Flag<T> = {
  readonly argument: string;
  readonly meaning: string;
  /** What the value may be, as documented and as repeated by refusals. */
  readonly bound: string;
  /** Absent: the flag has no value unless it is given. */
  readonly default?: T;
  /** How the documents spell a default that is computed or is no plain value. */
  readonly defaultText?: string;
  readonly schema: JsonSchema;
  readonly read: (texts: readonly string[]) => Read<T>;
  /**
   * How `svc config` prints the value: `keys` as a count and last characters, `origin` without path or user, `database`
   * without its password, `secret` as set or unset.
   */
  readonly shows?: 'keys' | 'origin' | 'database' | 'secret';
};

const value = <T>(given: T): Read<T> => ({ ok: true, value: given });
const refused = (problem: string): Read<never> => ({ ok: false, problem });
const quoted = (text: string): string => JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}...` : text);
const last = (texts: readonly string[]): string => texts.at(-1) ?? '';

type About = {
  readonly argument?: string;
  readonly meaning: string;
  readonly defaultText?: string;
  readonly shows?: 'keys' | 'origin' | 'secret';
};

/** A flag of one value: `accepts` returns the value, or `undefined` when the text is not one. */
const single = <T>(
  about: About & { readonly default?: T },
  kind: { argument: string; bound: string; schema: JsonSchema; accepts: (text: string) => T | undefined },
): Flag<T> => ({
  argument: kind.argument,
  bound: kind.bound,
  schema: kind.schema,
  ...about,
  read: (texts) => {
    const text = last(texts);
    const accepted = kind.accepts(text);
    if (accepted !== undefined) return value(accepted);
    const is = about.shows === undefined ? `, is ${quoted(text)}` : '';
    return refused(`must be ${kind.bound}${is}`);
  },
});

const integer = (minimum: number, maximum: number, about: About & { readonly default?: number }): Flag<number> =>
  single(about, {
    argument: '<n>',
    bound: `an integer from ${minimum} to ${maximum}`,
    schema: { type: 'integer', minimum, maximum },
    accepts: (text) => {
      const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return number >= minimum && number <= maximum ? number : undefined;
    },
  });

const fraction = (about: About & { readonly default: number }): Flag<number> =>
  single(about, {
    argument: '<fraction>',
    bound: 'a number from 0 to 1',
    schema: { type: 'number', minimum: 0, maximum: 1 },
    accepts: (text) => {
      const number = /^\d*\.?\d+(?:[eE]-?\d+)?$|^\d+\.$/.test(text) ? Number(text) : Number.NaN;
      return number >= 0 && number <= 1 ? number : undefined;
    },
  });

const text = (
  about: About & { readonly default?: string },
  kind: { argument: string; bound: string; pattern: RegExp },
): Flag<string> =>
  single(about, {
    argument: kind.argument,
    bound: kind.bound,
    schema: { type: 'string', pattern: kind.pattern.source },
    accepts: (given) => (kind.pattern.test(given) ? given : undefined),
  });

const path = (about: About & { readonly default?: string }): Flag<string> =>
  text(about, { argument: '<path>', bound: 'a path', pattern: /^[^\0]+$/ });

const choice = <C extends string>(choices: readonly C[], about: About & { readonly default: C }): Flag<C> =>
  single(about, {
    argument: '<level>',
    bound: `one of ${choices.join(', ')}`,
    schema: { type: 'string', enum: choices },
    accepts: (given) => choices.find((name) => name === given),
  });

/** A flag that may repeat, or hold a comma list. */
const list = (
  about: About & { readonly default: readonly string[] },
  kind: { argument: string; bound: string; accepts: (item: string) => boolean },
): Flag<readonly string[]> => ({
  argument: kind.argument,
  bound: kind.bound,
  schema: { type: 'array', minItems: 1, items: { type: 'string', minLength: 1 } },
  ...about,
  read: (texts) => {
    const items = texts.flatMap((one) => one.split(',')).map((item) => item.trim());
    const wrong = items.find((item) => !kind.accepts(item));
    return wrong === undefined ? value(items) : refused(`must be ${kind.bound}, holds ${quoted(wrong)}`);
  },
});

/** The scheme and form of a URL that the service will call. @returns the parsed URL, or `undefined` when it is none */
export const parseHttpUrl = (given: string): URL | undefined => {
  if (!/^https?:\/\/[^\s/]/i.test(given)) return undefined;
  return URL.parse(given) ?? undefined;
};

const url = (schemes: readonly string[], about: About): Flag<string> =>
  single(
    { ...about, shows: 'origin' },
    {
      argument: '<url>',
      bound: `a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
      schema: { type: 'string', pattern: `^(${schemes.join('|')})://[^\\s/]` },
      accepts: (given) => {
        const parsed = URL.parse(given);
        if (parsed === null || parsed.hostname === '') return undefined;
        return schemes.includes(parsed.protocol.slice(0, -1)) ? given : undefined;
      },
    },
  );

/** The address of a ClickHouse server. User and password have flags of their own, and stand in no URL. */
const serverUrl = (about: About): Flag<string> => ({
  ...about,
  argument: '<url>',
  bound: 'a URL that begins with http:// or https://',
  schema: { type: 'string', pattern: '^https?://[^\\s/@]' },
  shows: 'origin',
  read: (texts) => {
    const url = parseUrl(last(texts));
    return url.ok ? value(last(texts)) : refused(url.problem);
  },
});

/** The address of a PostgreSQL database. What is wrong with one is said without repeating it. */
const databaseUrl = (about: About): Flag<string> => ({
  ...about,
  argument: '<url>',
  bound: 'a URL that begins with postgres:// or postgresql://',
  schema: { type: 'string', pattern: '^(postgres|postgresql)://[^\\s]' },
  shows: 'database',
  read: (texts) => {
    const address = parseAddress(last(texts));
    return address.ok ? value(last(texts)) : refused(address.problem);
  },
});

/** A range of addresses in CIDR notation; a bare address is the range of itself. */
const isAddressRange = (given: string): boolean => {
  const [address = '', bits, ...rest] = given.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
};

const isOrigin = (given: string): boolean => {
  if (given === '*') return true;
  const parsed = parseHttpUrl(given);
  return parsed !== undefined && parsed.origin === given.toLowerCase();
};

/** What a key may be spelled with: it travels in a header. */
export const KEY_CHARACTERS = /^[\x21-\x7e]{1,512}$/;

/**
 * Keys may repeat or stand in a comma list. `@path` names a file with one key a line and is read by `settings.ts`, which
 * hands each line on as one occurrence; so a key in a file may hold a comma.
 */
const keys = (scope: Scope, meaning: string): Flag<readonly string[]> => ({
  argument: '<key>',
  meaning,
  bound: 'keys, or `@path`',
  default: [],
  defaultText: 'none',
  schema: {
    type: 'array',
    items: { $ref: '#/$defs/key' },
    description: `Keys of the ${scope} scope that reach every project.`,
  },
  shows: 'keys',
  read: (texts) =>
    texts.every((key) => KEY_CHARACTERS.test(key))
      ? value([...new Set(texts)])
      : refused('holds an empty key, or one with a space or a character that is not printable ASCII'),
});

/** What a project may be called. `*` means all projects in queries. */
export const PROJECT_NAME_BOUND = '1 to 256 characters, none of them a control character, and not `*`';
export const PROJECT_NAME = /^(?!\*$)[^\p{Cc}]{1,256}$/u;

const DAYS = 36_525;
const MEBIBYTE = 1_048_576;

const table = {
  host: text(
    { meaning: 'Address to listen on.', default: '127.0.0.1' },
    { argument: '<address>', bound: 'an address or host name', pattern: /^[A-Za-z0-9.:_%-]{1,255}$/ },
  ),
  port: integer(0, 65_535, { meaning: 'Port to listen on; 0 takes a free one and logs it.', default: 4317 }),
  data: path({ meaning: 'File of the embedded store.', default: 'svc.db' }),
  'runs-data': path({
    argument: '<path|off>',
    meaning: 'File of the durable runs; `off` disables every run endpoint (503).',
    default: 'svc-runs.db',
  }),
  'runs-url': databaseUrl({
    meaning:
      'Store durable runs in a PostgreSQL database, 14 to 18, instead of the file of `--runs-data`. Several services may share it: one of them moves the runs, or each those of some shards (`--runs-shards`), and another takes over when it dies.',
  }),
  'runs-shards': integer(1, 64, {
    meaning:
      'Into how many shards the runs of `--runs-url` are cut: each is moved by one service. The number stays in the database, and grows to a multiple at a start beside which no other service runs.',
    defaultText: 'as the database says, and 1 at first',
  }),
  'peer-url': url(['http', 'https'], {
    meaning: 'Where the other services on `--runs-url` reach this one: they pass on what is asked of the runs.',
    defaultText: 'the address that is listened on',
  }),
  'sqlstore-url': databaseUrl({
    meaning:
      'Store signals in a PostgreSQL database, 14 to 18, instead of the file of `--data`. Several services may share it.',
  }),
  'colstore-url': serverUrl({
    meaning:
      'Store signals in ClickHouse, 26.2 or later, over HTTP, instead of the file of `--data`. Several services may share it.',
  }),
  'colstore-database': text(
    { meaning: 'Database of `--colstore-url`; it is made when the user may.', default: DEFAULT_DATABASE },
    { argument: '<name>', bound: 'a name', pattern: /^[^\s]{1,128}$/ },
  ),
  'colstore-user': text(
    { meaning: 'User of `--colstore-url`.', default: DEFAULT_USER },
    { argument: '<name>', bound: 'a name', pattern: /^[^\s]{1,128}$/ },
  ),
  'colstore-password': text(
    { meaning: 'Password of `--colstore-url`.', shows: 'secret' },
    { argument: '<password>', bound: 'a password of one line', pattern: /^.{1,512}$/ },
  ),
  project: text(
    { meaning: 'Project of signals and queries that name none.', default: 'default' },
    {
      argument: '<name>',
      bound: PROJECT_NAME_BOUND,
      pattern: PROJECT_NAME,
    },
  ),
  sample: fraction({ meaning: 'Share of traces that is kept, decided by trace id.', default: 1 }),
  'retention-days': integer(1, DAYS, {
    meaning: 'Days that signals and finished runs are kept, looked at hourly.',
    defaultText: 'indefinitely',
  }),
  audit: choice(['batched', 'sync'], {
    meaning:
      'When the audit row of a read is on the disk: `batched`, within 100 ms of the answer, or `sync`, before it.',
    default: 'batched',
  }),
  'audit-retention-days': integer(1, DAYS, { meaning: 'Days that audit rows are kept.', default: 400 }),
  'quota-per-minute': integer(1, 1_000_000_000, {
    meaning: 'Most signals that a project may send in one minute of the clock.',
    defaultText: 'no ceiling',
  }),
  'ingest-key': keys('ingest', 'Keys that may send signals.'),
  'read-key': keys('read', 'Keys that may query.'),
  'write-key': keys('write', 'Keys that may write scores, feedback, datasets and experiments.'),
  'admin-key': keys('admin', 'Keys that may delete and read the audit log.'),
  'execute-key': keys('execute', 'Keys that may start, signal and cancel runs.'),
  'worker-key': keys('worker', 'Keys that may serve the steps of runs.'),
  'max-body-bytes': integer(1, 256 * MEBIBYTE, {
    meaning: 'Largest body of an ingest request, as received.',
    default: 32 * MEBIBYTE,
  }),
  'max-inflated-bytes': integer(1, 1024 * MEBIBYTE, {
    meaning: 'Most bytes to which a gzip body may inflate.',
    defaultText: 'four times `--max-body-bytes`',
  }),
  'max-batch-signals': integer(1, 1_000_000, { meaning: 'Most signals in one ingest request.', default: 10_000 }),
  'max-inflight-bytes': integer(1, 16_384 * MEBIBYTE, {
    meaning:
      'Memory for ingest bodies and their signals between arrival and answer; beyond it the answer is 429. Bodies of up to 64 KiB have an eighth more.',
    default: 128 * MEBIBYTE,
  }),
  'max-answer-bytes': integer(1, 16_384 * MEBIBYTE, {
    meaning:
      'Memory for answers that are being made or sent; beyond it reads get 429. One of any size is served when it is alone.',
    default: 256 * MEBIBYTE,
  }),
  'disk-reserve-bytes': integer(0, 16_384 * MEBIBYTE, {
    meaning:
      'Room on the disk that each data file keeps for itself, so that on a full disk the service starts, reads and deletes; 0 keeps none.',
    default: 16 * MEBIBYTE,
  }),
  'request-timeout-seconds': integer(1, 3600, {
    meaning: 'Deadline of a request; past it the answer is 503.',
    default: 30,
  }),
  'max-descendants': integer(1, 10_000_000, {
    meaning: 'Most runs below one root run; the step that would start more fails with class `limit`.',
    default: 100_000,
  }),
  'lease-ttl-ms': integer(10, 86_400_000, {
    meaning: 'How long a worker holds a step without a heartbeat.',
    default: 30_000,
  }),
  'reclaim-window-ms': integer(0, 86_400_000, {
    meaning: 'How long an orphaned step waits for its worker to come back.',
    default: 5_000,
  }),
  'offer-ttl-ms': integer(10, 86_400_000, {
    meaning: 'How long an offered step waits to be started.',
    default: 5_000,
  }),
  'audit-subject-header': text(
    { meaning: 'Header that names the person behind a key, for the audit log.', default: 'X-Svc-Subject' },
    { argument: '<name>', bound: 'the name of a header', pattern: /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/ },
  ),
  'audit-trusted-range': list(
    { meaning: 'Peers that may set that header. May repeat.', default: [], defaultText: 'none' },
    { argument: '<cidr>', bound: 'addresses or ranges like 10.0.0.0/8', accepts: isAddressRange },
  ),
  'cors-origin': list(
    {
      meaning:
        'Origins whose pages may call the query API; where no key is configured, only those named one by one may write. May repeat.',
      default: ['*'],
      defaultText: '`*`',
    },
    { argument: '<origin>', bound: '`*` or origins like https://example.com', accepts: isOrigin },
  ),
  'otlp-grpc': choice(['on', 'off'], {
    meaning: 'Serve OTLP over gRPC on the same port: traces, logs and metrics.',
    default: 'on',
  }),
  'otlp-protobuf': choice(['traces', 'all'], {
    meaning: 'What `/v1/traces`, `/v1/logs` and `/v1/metrics` take as protobuf: traces alone, or `all` three.',
    default: 'traces',
  }),
  'log-level': choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    meaning: 'How much is logged to standard output.',
    default: 'info',
  }),
  'config-file': path({
    meaning:
      'JSON file with the blocks projects, redaction, forward, judge, monitors and slos; any other flag may stand there too, in snake_case.',
  }),
};

type Camel<S extends string> = S extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;
type Table = typeof table;
export type FlagName = keyof Table;
type ValueOf<F> = F extends Flag<infer T> ? T : never;

/** Every flag as read, under its name in camelCase. A flag without a value is absent. */
export type FlagValues = { readonly [N in FlagName as Camel<N>]: ValueOf<Table[N]> | undefined };

/** The only table of flags, in the order in which the documents list them. */
export const flags: { readonly [N in FlagName]: Flag<ValueOf<Table[N]>> } = table;
export const flagNames = Object.keys(table) as readonly FlagName[];

/** `max-body-bytes` → `SVCD_MAX_BODY_BYTES`. @see Interface decisions, "3. Keys and scopes" */
export const environmentName = (name: FlagName): string => `SVCD_${name.replaceAll('-', '_').toUpperCase()}`;

/** `max-body-bytes` → `max_body_bytes`: the spelling of the config file and of `svc config`. */
export const snakeName = (name: FlagName): string => name.replaceAll('-', '_');

/** `max-body-bytes` → `maxBodyBytes`. */
export const camelName = (name: FlagName): keyof FlagValues =>
  name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()) as keyof FlagValues;

/** The flag of a scope's keys. */
export const keyFlagOf = (scope: Scope): `${Scope}-key` => `${scope}-key`;

export const keyFlagNames: readonly FlagName[] = scopes.map(keyFlagOf);
