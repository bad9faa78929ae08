/** Where a ClickHouse server answers over HTTP, with user and password. */
export type ServerAddress = {
  /** `http` or `https`, host, port and, behind a proxy, a path. */
  readonly url: URL;
  readonly database: string;
  readonly user: string;
  readonly password?: string;
  /** Of several replicas, one of which this address reaches: as `system.clusters` names it. */
  readonly cluster?: string;
};

export const DEFAULT_DATABASE = 'svc';
export const DEFAULT_USER = 'default';

/** Without its parameters. */
export type ServerUrl = { readonly url: URL; readonly cluster?: string };
export type ParsedUrl =
  | { readonly ok: true; readonly value: ServerUrl }
  | { readonly ok: false; readonly problem: string };

const CLUSTER = /^[\w.-]{1,64}$/;

/** Takes the name of a cluster off a URL. @returns nothing where it has other parameters, or the name is none */
const withoutCluster = (url: URL): ServerUrl | undefined => {
  if (url.hash !== '') return undefined;
  const parameters = [...url.searchParams];
  const bare = new URL(`${url.origin}${url.pathname}`);
  if (parameters.length === 0) return url.search === '' ? { url: bare } : undefined;
  const [[name, cluster] = ['', '']] = parameters;
  return parameters.length === 1 && name === 'cluster' && CLUSTER.test(cluster) ? { url: bare, cluster } : undefined;
};

/**
 * Reads the address of a server.
 * @param text `http://host:8123` or `https://host:8443`, and `?cluster=name` where it is one of several replicas
 * @returns the address, or what is wrong with it, in words that repeat no part of it
 */
export const parseUrl = (text: string): ParsedUrl => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return { ok: false, problem: 'must be a URL that begins with http:// or https://' };
  if (url.username !== '' || url.password !== '')
    return { ok: false, problem: 'holds a user or a password; name them with --colstore-user and --colstore-password' };
  const value = withoutCluster(url);
  return value === undefined
    ? {
        ok: false,
        problem:
          'has parameters; it is http://host:8123 or http://host:8123?cluster=name, and the database is --colstore-database',
      }
    : { ok: true, value };
};

const IN_ONE = /^clickhouse\+(?=https?:\/\/)/;
/** Whether a text is the address of a database, with user and password. */
export const isDatabaseUrl = (text: string): boolean => text.startsWith('clickhouse+');

const decoded = (part: string): string | undefined => {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
};

/**
 * Reads the address of a database.
 * @param text `clickhouse+http://user:password@host:8123/database`, or the same with `https`, and `?cluster=name` behind it
 * @returns the address, or what is wrong with it, in words that repeat no part of it
 */
export const parseDatabaseUrl = (
  text: string,
): { readonly ok: true; readonly value: ServerAddress } | { readonly ok: false; readonly problem: string } => {
  const http = text.replace(IN_ONE, '');
  const url = http !== text && URL.canParse(http) ? new URL(http) : undefined;
  const form = 'clickhouse+http://user:password@host:8123/database';
  const place = url && withoutCluster(url);
  if (url === undefined || place === undefined) return { ok: false, problem: `must be like ${form}` };
  const at = url.pathname.lastIndexOf('/');
  const [user, password, database] = [url.username, url.password, url.pathname.slice(at + 1)].map(decoded);
  if (user === undefined || password === undefined || database === undefined)
    return { ok: false, problem: 'has a % that begins no character' };
  if (database === '') return { ok: false, problem: `names no database, as in ${form}` };
  return {
    ok: true,
    value: {
      url: new URL(`${url.origin}${url.pathname.slice(0, at)}`),
      database,
      user: user === '' ? DEFAULT_USER : user,
      ...(password === '' ? {} : { password }),
      ...(place.cluster === undefined ? {} : { cluster: place.cluster }),
    },
  };
};

/** The address as it was understood, without the password: fit to be shown. */
export const showAddress = ({ url, database, user, cluster }: ServerAddress): string =>
  `${url.origin}${url.pathname === '/' ? '' : url.pathname} (database ${database}, user ${user}${cluster === undefined ? '' : `, cluster ${cluster}`})`;
