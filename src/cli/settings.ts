import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Scope, scopes } from '../model/scope.ts';
import {
  type ConfigFile,
  type ForwardConfig,
  type JudgeConfig,
  type MonitorConfig,
  type ProjectConfig,
  parseConfigFile,
  type RedactionConfig,
  type SloConfig,
} from './config-file.ts';
import {
  camelName,
  environmentName,
  type FlagName,
  type FlagValues,
  flagNames,
  flags,
  keyFlagNames,
  keyFlagOf,
  snakeName,
} from './flags.ts';

/** What the command line holds: every occurrence of each flag, in order. */
export type GivenFlags = Readonly<Partial<Record<FlagName, readonly string[]>>>;

export type Source = 'flag' | 'environment' | 'config file' | 'default';

export type Monitor = Required<Omit<MonitorConfig, 'webhook' | 'scorer_id'>> &
  Pick<MonitorConfig, 'webhook' | 'scorer_id'>;
export type Slo = Required<Omit<SloConfig, 'webhook'>> & Pick<SloConfig, 'webhook'>;
export type Judge = Required<JudgeConfig>;

type Optional =
  | 'retentionDays'
  | 'quotaPerMinute'
  | 'sqlstoreUrl'
  | 'runsUrl'
  | 'runsShards'
  | 'peerUrl'
  | 'colstoreUrl'
  | 'colstorePassword'
  | 'configFile';
type KeyFlag = `${Scope}Key`;

/** All settings of the daemon, decided once at the start; no other code reads the environment or the config file. */
export type Settings = {
  readonly [F in Exclude<keyof FlagValues, Optional | KeyFlag | 'runsData'>]: Exclude<FlagValues[F], undefined>;
} & {
  readonly [F in Optional]?: Exclude<FlagValues[F], undefined>;
} & {
  /** Absent: `--runs-data off`. */
  readonly runsData?: string;
  /** Keys that reach every project. */
  readonly keys: Readonly<Record<Scope, readonly string[]>>;
  readonly projects: Readonly<Record<string, ProjectConfig>>;
  readonly redaction: RedactionConfig;
  readonly forward?: ForwardConfig;
  readonly judge?: Judge;
  readonly monitors: readonly Monitor[];
  readonly slos: readonly Slo[];
  readonly monitorIntervalSeconds: number;
  /** Where each flag's value came from. */
  readonly sources: Readonly<Record<FlagName, Source>>;
  /** What an operator should know but what does not stop the start. */
  readonly warnings: readonly string[];
};

export type SettingsResult =
  | { readonly ok: true; readonly value: Settings }
  | { readonly ok: false; readonly problem: string };

/** What the settings are read from. @param readTextFile throws as `node:fs` does */
export type SettingsInput = {
  readonly given: GivenFlags;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readTextFile?: (path: string) => string;
  /** Whether any user of the machine may read a file. */
  readonly isPublic?: (path: string) => boolean;
};

/** A problem on its way out of the reading below; the message is the one line an operator sees. */
class Unusable extends Error {}

const MIN_KEY_LENGTH = 16;
/** The permission to read that everyone has. */
const READ_BY_OTHERS = 0o004;

const isReadableByAll = (path: string): boolean =>
  process.platform !== 'win32' && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & READ_BY_OTHERS) !== 0;

/** Whether a config file holds what other users of the machine should not know: keys, other secrets, or URLs that are such. */
const holdsSecrets = (file: ConfigFile): boolean =>
  Object.values(file.projects ?? {}).some(({ keys }) => keys !== undefined) ||
  file.redaction?.hash_key !== undefined ||
  file.judge?.api_key !== undefined ||
  file.forward?.headers !== undefined ||
  [...(file.monitors ?? []), ...(file.slos ?? [])].some(({ webhook }) => webhook !== undefined) ||
  flagNames.some((name) => flags[name].shows !== undefined && file[snakeName(name)] !== undefined);

const publicFileWarning = (path: string): string =>
  `${path} holds secrets, and every user of this machine may read it: chmod o-r ${path}`;

/** A file that cannot be read, in words: the code of the system says why, and the path stands beside it already. */
const whyUnreadable = (error: unknown): string => {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EACCES') return 'it may not be read';
  if (code === 'EISDIR') return 'it is a directory';
  return `it cannot be read (${code ?? 'unknown error'})`;
};

/** Where a value stands, as a refusal names it. */
const nameIn = (source: Source, flag: FlagName): string => {
  if (source === 'environment') return environmentName(flag);
  return source === 'config file' ? snakeName(flag) : `--${flag}`;
};

/** `a,b` and `@path` as single keys. @throws Unusable when the file cannot be read or holds no key */
const spreadKeys = (texts: readonly string[], name: string, readTextFile: (path: string) => string): string[] =>
  texts.flatMap((text) => {
    if (!text.startsWith('@')) return text.split(',').map((key) => key.trim());
    const path = text.slice(1);
    let lines: string;
    try {
      lines = readTextFile(path);
    } catch (error) {
      throw new Unusable(`${name}: ${path}: ${whyUnreadable(error)}`);
    }
    const keys = lines.split('\n').map((line) => line.trim());
    const found = keys.filter((key) => key !== '');
    // An empty list would mean "open to everyone", which nobody writes a file for.
    if (found.length === 0) throw new Unusable(`${name}: ${path}: holds no key`);
    return found;
  });

/** A value of the config file as the texts that the command line would have given. */
const textsOf = (inFile: unknown): string[] => (Array.isArray(inFile) ? inFile.map(String) : [String(inFile)]);

const readConfigFile = (path: string, name: string, readTextFile: (path: string) => string): ConfigFile => {
  let text: string;
  try {
    text = readTextFile(path);
  } catch (error) {
    throw new Unusable(`${name}: ${path}: ${whyUnreadable(error)}`);
  }
  const parsed = parseConfigFile(text);
  if (parsed.ok) return parsed.value;
  const { path: at, problem } = parsed.fault;
  throw new Unusable(at === '' ? `${path}: ${problem}` : `${path}: ${at}: ${problem}`);
};

const weakKeyWarning = (where: string, keys: readonly string[]): string[] => {
  const short = keys.filter((key) => key.length < MIN_KEY_LENGTH).length;
  if (short === 0) return [];
  return [`${where}: ${short} of ${keys.length} keys are shorter than ${MIN_KEY_LENGTH} characters and can be guessed`];
};

/** A misspelled variable would leave a door open without a word. */
const unknownVariables = (environment: SettingsInput['environment']): string[] => {
  const known = new Set(flagNames.map(environmentName));
  return Object.keys(environment)
    .filter((name) => name.startsWith('SVCD_') && !known.has(name))
    .toSorted()
    .map((name) => `environment variable ${name.slice(0, 64)} names no flag and is not read`);
};

const decide = ({
  given,
  environment,
  readTextFile = (path) => readFileSync(path, 'utf8'),
  isPublic = isReadableByAll,
}: SettingsInput): Settings => {
  const secretFiles = new Set<string>();
  const readKeyFile = (path: string): string => {
    secretFiles.add(path);
    return readTextFile(path);
  };
  const sources = {} as Record<FlagName, Source>;
  const values: Record<string, unknown> = {};

  const read = (name: FlagName, file: ConfigFile): void => {
    const flag = flags[name];
    const environmentText = environment[environmentName(name)];
    const inFile = file[snakeName(name)];
    const [source, texts]: [Source, readonly string[]] =
      given[name] !== undefined
        ? ['flag', given[name]]
        : environmentText !== undefined
          ? ['environment', [environmentText]]
          : inFile !== undefined
            ? ['config file', textsOf(inFile)]
            : ['default', []];
    sources[name] = source;
    if (source === 'default') {
      values[camelName(name)] = flag.default;
      return;
    }
    const shownAs = nameIn(source, name);
    // An unset variable of a compose file arrives empty; taking it as "none" would open what it was meant to close.
    if (texts.length > 0 && texts.every((text) => text === ''))
      throw new Unusable(`${shownAs}: is empty; leave it out to use the default`);
    const spread = flag.shows === 'keys' && source !== 'config file' ? spreadKeys(texts, shownAs, readKeyFile) : texts;
    const result = flag.read(spread);
    if (!result.ok) throw new Unusable(`${shownAs}: ${result.problem}`);
    values[camelName(name)] = result.value;
  };

  read('config-file', {});
  const configPath = values['configFile'] as string | undefined;
  const file =
    configPath === undefined
      ? {}
      : readConfigFile(configPath, nameIn(sources['config-file'], 'config-file'), readTextFile);
  if (configPath !== undefined && holdsSecrets(file)) secretFiles.add(configPath);
  for (const name of flagNames) if (name !== 'config-file') read(name, file);

  const { runsData, ...rest } = values as FlagValues;
  const flagValues = Object.fromEntries(
    Object.entries(rest).filter(([name, held]) => held !== undefined && !name.endsWith('Key')),
  ) as unknown as Settings;
  const keys = Object.fromEntries(
    scopes.map((scope) => [scope, values[camelName(keyFlagOf(scope))] as readonly string[]]),
  ) as Record<Scope, readonly string[]>;

  const { data } = flagValues;
  if (runsData !== undefined && runsData !== 'off' && resolve(runsData) === resolve(data))
    throw new Unusable(
      `${nameIn(sources['runs-data'], 'runs-data')}: is the file of --data; runs need a file of their own`,
    );
  if (flagValues.sqlstoreUrl !== undefined && flagValues.colstoreUrl !== undefined)
    throw new Unusable('--sqlstore-url: stands beside --colstore-url; signals live in one store');

  const maxInflatedBytes = (values['maxInflatedBytes'] as number | undefined) ?? flagValues.maxBodyBytes * 4;
  const projects = file.projects ?? {};
  const { forward, judge } = file;

  return {
    ...flagValues,
    ...(runsData === undefined || runsData === 'off' ? {} : { runsData }),
    maxInflatedBytes,
    keys,
    projects,
    redaction: file.redaction ?? {},
    ...(forward === undefined ? {} : { forward }),
    ...(judge === undefined ? {} : { judge: { api_key: '', timeout_seconds: 30, ...judge } }),
    monitors: (file.monitors ?? []).map((monitor) => ({
      name: monitor.id,
      project: flagValues.project,
      enabled: true,
      compare: 'above',
      threshold: 0,
      min_samples: 20,
      ...monitor,
    })),
    slos: (file.slos ?? []).map((slo) => ({ name: slo.id, project: flagValues.project, min_samples: 20, ...slo })),
    monitorIntervalSeconds: file.monitor_interval_seconds ?? 60,
    sources,
    warnings: [
      ...unknownVariables(environment),
      ...[...secretFiles].filter(isPublic).map(publicFileWarning),
      ...keyFlagNames.flatMap((name) => weakKeyWarning(`--${name}`, values[camelName(name)] as readonly string[])),
      ...Object.entries(projects).flatMap(([name, block]) =>
        Object.entries(block.keys ?? {}).flatMap(([scope, held]) =>
          weakKeyWarning(`projects.${name}.keys.${scope}`, held),
        ),
      ),
    ],
  };
};

/**
 * Reads every setting: flag, then environment, then config file, then default.
 * @returns the settings, or the one line that names what is wrong and where it stands
 * @see Interface decisions, "3. Keys and scopes", "11. Flags beside the specified ones"
 */
export const readSettings = (input: SettingsInput): SettingsResult => {
  try {
    return { ok: true, value: decide(input) };
  } catch (error) {
    if (error instanceof Unusable) return { ok: false, problem: error.message };
    throw error;
  }
};
