import { type Scope, scopes } from '../model/scope.ts';
import { capabilitiesToWire } from '../http/codec/capabilities.ts';
import { clickhouseEngine } from '../store/clickhouse/signals/capabilities.ts';
import { parseAddress, showAddress } from '../store/postgres/address.ts';
import { postgresEngine } from '../store/postgres/signals/capabilities.ts';
import { sqliteEngine } from '../store/sqlite/signals/capabilities.ts';
import { camelName, flagNames, flags, snakeName } from './flags.ts';
import type { Settings } from './settings.ts';

/** A URL without what may be secret in it: user, password, path and query. */
export const originOf = (url: string): string => {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
};

/** The address of a database as it was understood, without its password. */
export const databaseOf = (url: string): string => {
  const address = parseAddress(url);
  return address.ok ? showAddress(address.value) : '...';
};

const setOrUnset = (secret: string | undefined): 'set' | 'unset' => (secret ? 'set' : 'unset');

/** The last four characters tell an operator which key it is; of a short key they would tell too much. */
const lastCharacters = (key: string): string => (key.length < 8 ? '...' : `...${key.slice(-4)}`);

const describeKeys = (keys: readonly string[]): { count: number; last_characters: string[] } => ({
  count: keys.length,
  last_characters: keys.map(lastCharacters),
});

const withOrigin = <T extends { readonly webhook?: string }>(entry: T): T =>
  entry.webhook === undefined ? entry : { ...entry, webhook: originOf(entry.webhook) };

const engineOf = ({ colstoreUrl, sqlstoreUrl }: Settings): typeof sqliteEngine => {
  if (colstoreUrl !== undefined) return clickhouseEngine;
  return sqlstoreUrl === undefined ? sqliteEngine : postgresEngine;
};

/**
 * The effective configuration as plain JSON, fit to be shown: keys as a count and their last characters, URLs as their
 * origin (the path of a webhook is a secret), other secrets as set or unset.
 * @see Interface specification, "Command-line surface", subcommand `config`
 */
export const describeSettings = (settings: Settings): Record<string, unknown> => {
  const { redaction, forward, judge } = settings;
  const engine = engineOf(settings);
  const fromFlags = flagNames.map((name): [string, unknown] => {
    const held = (settings as Readonly<Record<string, unknown>>)[camelName(name)];
    switch (flags[name].shows) {
      case 'keys':
        return [snakeName(name), describeKeys(settings.keys[name.slice(0, -'-key'.length) as Scope])];
      case 'origin':
        return [snakeName(name), held === undefined ? undefined : originOf(held as string)];
      case 'database':
        return [snakeName(name), held === undefined ? undefined : databaseOf(held as string)];
      case 'secret':
        return [snakeName(name), setOrUnset(held as string | undefined)];
      default:
        return [snakeName(name), name === 'runs-data' ? (held ?? 'off') : held];
    }
  });
  return {
    ...Object.fromEntries(fromFlags),
    projects: Object.fromEntries(
      Object.entries(settings.projects).map(([name, { keys = {}, ...block }]) => [
        name,
        {
          ...block,
          keys: Object.fromEntries(
            scopes.flatMap((scope) => (keys[scope] ? [[scope, describeKeys(keys[scope])]] : [])),
          ),
        },
      ]),
    ),
    redaction: { ...redaction, hash_key: setOrUnset(redaction.hash_key) },
    ...(forward && { forward: { endpoint: originOf(forward.endpoint), headers: Object.keys(forward.headers ?? {}) } }),
    ...(judge && { judge: { ...judge, endpoint: originOf(judge.endpoint), api_key: setOrUnset(judge.api_key) } }),
    storage: engine.kind,
    capabilities: capabilitiesToWire(engine.capabilities),
    monitor_interval_seconds: settings.monitorIntervalSeconds,
    monitors_armed: settings.monitors.filter((monitor) => monitor.enabled).length,
    slos_armed: settings.slos.length,
    monitors: settings.monitors.map(withOrigin),
    slos: settings.slos.map(withOrigin),
    sources: Object.fromEntries(
      flagNames
        .filter((name) => settings.sources[name] !== 'default')
        .map((name) => [snakeName(name), settings.sources[name]]),
    ),
  };
};
