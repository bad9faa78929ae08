/** What a connection does about TLS, in the words of PostgreSQL's own client. */
export const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof sslModes)[number];

export type Host = { readonly host: string; readonly port: number };

/** Where a database is, and how to get in. */
export type DatabaseAddress = {
  /** Tried in this order; the first that takes writes is used. */
  readonly hosts: readonly Host[];
  readonly database: string;
  readonly user: string;
  readonly password?: string;
  readonly sslmode: SslMode;
  /** Paths of PEM files. */
  readonly sslrootcert?: string;
  readonly sslcert?: string;
  readonly sslkey?: string;
};

const PORT = 5432;
const SCHEME = /^postgres(?:ql)?:\/\//;
const FORM = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const HOST = /^(\[[0-9a-fA-F:.%]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/;
/** The parameters that are read; those of files, which go together or alone. */
const known = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const;

export type ParsedAddress =
  | { readonly ok: true; readonly value: DatabaseAddress }
  | { readonly ok: false; readonly problem: string };

const refused = (problem: string): ParsedAddress => ({ ok: false, problem });

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

const parseHost = (text: string): Host | undefined => {
  const [, host, port] = HOST.exec(text) ?? [];
  if (host === undefined) return undefined;
  const number = port === undefined ? PORT : Number(port);
  return number < 1 || number > 65_535 ? undefined : { host: host.replace(/^\[|\]$/g, ''), port: number };
};

/**
 * Reads the address of a PostgreSQL database.
 * @param url `postgres://user:password@host:port,host:port/database?sslmode=...`; the folder of a socket is the parameter `host`
 * @returns the address, or what is wrong with it, in words that repeat no part of it but the names of its parameters
 */
export const parseAddress = (url: string): ParsedAddress => {
  const [, credentials, hostList = '', path = '', query = ''] = FORM.exec(url) ?? [];
  if (!SCHEME.test(url)) return refused('must be a URL that begins with postgres:// or postgresql://');
  if (!FORM.test(url))
    return refused('is no address of a database; write @, /, ? and # of a password as %40, %2F, %3F and %23');
  const colon = credentials?.indexOf(':') ?? -1;
  const user = decoded(credentials === undefined || colon < 0 ? (credentials ?? '') : credentials.slice(0, colon));
  const password = credentials === undefined || colon < 0 ? undefined : decoded(credentials.slice(colon + 1));
  const database = decoded(path);
  if (user === undefined || database === undefined || (colon >= 0 && password === undefined))
    return refused('holds a percent sign that begins no encoded character; write % as %25');
  if (user === '') return refused('names no user: postgres://user@host/database');
  if (database === '' || database.includes('/')) return refused('names no database: postgres://user@host/database');

  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys())
    if (!known.some((one) => one === name))
      return refused(
        `has the parameter ${JSON.stringify(name.slice(0, 64))}; those that are read are ${known.join(', ')}`,
      );
  const folder = parameters.get('host');
  if (folder !== null && (hostList !== '' || !folder.startsWith('/')))
    return refused('has the parameter host, which is the absolute path of the folder of a socket, and stands alone');
  const hosts = folder === null ? hostList.split(',').map(parseHost) : [{ host: folder, port: PORT }];
  if (hosts.some((host) => host === undefined))
    return refused('names no host, or a port that is none: postgres://user@host:5432,host:5432/database');

  const sslmode = parameters.get('sslmode') ?? 'prefer';
  const mode = sslModes.find((one) => one === sslmode);
  if (mode === undefined) return refused(`has an sslmode that is not one of ${sslModes.join(', ')}`);
  const file = (name: 'sslrootcert' | 'sslcert' | 'sslkey') => {
    const value = parameters.get(name);
    return value === null || value === '' ? {} : { [name]: value };
  };
  const files: Pick<DatabaseAddress, 'sslrootcert' | 'sslcert' | 'sslkey'> = {
    ...file('sslrootcert'),
    ...file('sslcert'),
    ...file('sslkey'),
  };
  if ((files.sslcert === undefined) !== (files.sslkey === undefined))
    return refused('has one of sslcert and sslkey; a certificate needs its key');
  return {
    ok: true,
    value: {
      hosts: hosts as Host[],
      database,
      user,
      ...(password === undefined ? {} : { password }),
      // With roots to trust at hand, nobody means "encrypted, not verified".
      sslmode: mode === 'require' && files.sslrootcert !== undefined ? 'verify-ca' : mode,
      ...files,
    },
  };
};

/** The address as it was understood, without the password: fit to be shown. */
export const showAddress = ({ hosts, database, user, password: _secret, ...rest }: DatabaseAddress): string => {
  const folder = hosts[0]?.host.startsWith('/') === true ? hosts[0].host : undefined;
  const list = hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',');
  const parameters = Object.entries(rest).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  if (folder !== undefined) parameters.unshift(`host=${encodeURIComponent(folder)}`);
  return `postgres://${encodeURIComponent(user)}@${folder === undefined ? list : ''}/${encodeURIComponent(database)}?${parameters.join('&')}`;
};
