import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { environmentName, type FlagName, flagNames, flags, snakeName } from '../../src/cli/flags.ts';
import { type GivenFlags, readSettings, type Settings } from '../../src/cli/settings.ts';

type Files = Readonly<Record<string, string>>;

const fileReader =
  (files: Files) =>
  (path: string): string => {
    const text = files[path];
    if (text === undefined) throw Object.assign(new Error('not there'), { code: 'ENOENT' });
    return text;
  };

const read = (given: GivenFlags, environment: Record<string, string> = {}, files: Files = {}) =>
  readSettings({ given, environment, readTextFile: fileReader(files), isPublic: () => false });

const settingsOf = (given: GivenFlags, environment: Record<string, string> = {}, files: Files = {}): Settings => {
  const result = read(given, environment, files);
  if (!result.ok) throw new Error(result.problem);
  return result.value;
};

const problemOf = (given: GivenFlags, environment: Record<string, string> = {}, files: Files = {}): string => {
  const result = read(given, environment, files);
  if (result.ok) throw new Error('the settings were taken');
  return result.problem;
};

/** For each flag: a text that is not its default, what it reads as, where it lands, and texts that are refused. */
const rows: Readonly<
  Record<
    Exclude<FlagName, 'config-file'>,
    { text: string; read: unknown; of: (s: Settings) => unknown; refused: readonly string[] }
  >
> = {
  host: { text: '0.0.0.0', read: '0.0.0.0', of: (s) => s.host, refused: ['a b', ''] },
  port: { text: '8080', read: 8080, of: (s) => s.port, refused: ['65536', '-1', '80x', '1.5', ''] },
  data: { text: '/d/other.db', read: '/d/other.db', of: (s) => s.data, refused: [''] },
  'runs-data': { text: '/d/runs.db', read: '/d/runs.db', of: (s) => s.runsData, refused: ['', 'svc.db'] },
  'runs-url': {
    text: 'postgres://u:p@db/runs',
    read: 'postgres://u:p@db/runs',
    of: (s) => s.runsUrl,
    refused: ['mysql://db', 'postgres://u@h', ''],
  },
  'runs-shards': { text: '8', read: 8, of: (s) => s.runsShards, refused: ['0', '65', '2.5', ''] },
  'peer-url': {
    text: 'http://one:4317',
    read: 'http://one:4317',
    of: (s) => s.peerUrl,
    refused: ['one:4317', ''],
  },
  'sqlstore-url': {
    text: 'postgres://u:p@db/svc',
    read: 'postgres://u:p@db/svc',
    of: (s) => s.sqlstoreUrl,
    refused: ['mysql://db', 'db', 'postgres://u@h', 'postgres://u:p@ss@h/d', 'postgres://u@h/d?sslmode=no', ''],
  },
  'colstore-url': {
    text: 'http://ch:8123',
    read: 'http://ch:8123',
    of: (s) => s.colstoreUrl,
    refused: ['ch:8123', 'ftp://ch', 'http://u:p@ch:8123', 'http://ch:8123?a=b', ''],
  },
  'colstore-database': { text: 'signals', read: 'signals', of: (s) => s.colstoreDatabase, refused: ['a b', ''] },
  'colstore-user': { text: 'svc', read: 'svc', of: (s) => s.colstoreUser, refused: ['a b', ''] },
  'colstore-password': { text: 'secret', read: 'secret', of: (s) => s.colstorePassword, refused: [''] },
  project: { text: 'shop', read: 'shop', of: (s) => s.project, refused: ['*', 'a\nb', 'x'.repeat(257), ''] },
  sample: { text: '0.25', read: 0.25, of: (s) => s.sample, refused: ['1.01', '-0.1', 'half', 'NaN', ''] },
  'retention-days': { text: '30', read: 30, of: (s) => s.retentionDays, refused: ['0', '36526', '1.5', ''] },
  'audit-retention-days': { text: '30', read: 30, of: (s) => s.auditRetentionDays, refused: ['0', '36526', ''] },
  'quota-per-minute': { text: '1000', read: 1000, of: (s) => s.quotaPerMinute, refused: ['0', '-5', 'many', ''] },
  'ingest-key': {
    text: 'ingest-key-000001',
    read: ['ingest-key-000001'],
    of: (s) => s.keys.ingest,
    refused: ['a key', 'a,,b', ''],
  },
  'read-key': { text: 'read-key-00000001', read: ['read-key-00000001'], of: (s) => s.keys.read, refused: ['ключ', ''] },
  'write-key': {
    text: 'write-key-0000001',
    read: ['write-key-0000001'],
    of: (s) => s.keys.write,
    refused: ['a key', ''],
  },
  'admin-key': {
    text: 'admin-key-0000001',
    read: ['admin-key-0000001'],
    of: (s) => s.keys.admin,
    refused: ['a key', ''],
  },
  'execute-key': {
    text: 'execute-key-00001',
    read: ['execute-key-00001'],
    of: (s) => s.keys.execute,
    refused: ['a key', ''],
  },
  'worker-key': {
    text: 'worker-key-000001',
    read: ['worker-key-000001'],
    of: (s) => s.keys.worker,
    refused: ['a key', ''],
  },
  'max-body-bytes': { text: '1024', read: 1024, of: (s) => s.maxBodyBytes, refused: ['0', '268435457', '1k', ''] },
  'max-inflated-bytes': { text: '4096', read: 4096, of: (s) => s.maxInflatedBytes, refused: ['0', '1073741825', ''] },
  'max-batch-signals': { text: '10', read: 10, of: (s) => s.maxBatchSignals, refused: ['0', '1000001', ''] },
  'max-inflight-bytes': { text: '65536', read: 65_536, of: (s) => s.maxInflightBytes, refused: ['0', 'lots', ''] },
  'max-answer-bytes': { text: '65536', read: 65_536, of: (s) => s.maxAnswerBytes, refused: ['0', '17179869185', ''] },
  'disk-reserve-bytes': {
    text: '0',
    read: 0,
    of: (s) => s.diskReserveBytes,
    refused: ['-1', '17179869185', ''],
  },
  'request-timeout-seconds': {
    text: '5',
    read: 5,
    of: (s) => s.requestTimeoutSeconds,
    refused: ['0', '3601', '2.5', ''],
  },
  'max-descendants': { text: '50', read: 50, of: (s) => s.maxDescendants, refused: ['0', '10000001', '1.5', ''] },
  'lease-ttl-ms': { text: '2000', read: 2000, of: (s) => s.leaseTtlMs, refused: ['9', '86400001', ''] },
  'reclaim-window-ms': { text: '0', read: 0, of: (s) => s.reclaimWindowMs, refused: ['-1', '86400001', ''] },
  'offer-ttl-ms': { text: '700', read: 700, of: (s) => s.offerTtlMs, refused: ['9', '86400001', ''] },
  'audit-subject-header': {
    text: 'X-User',
    read: 'X-User',
    of: (s) => s.auditSubjectHeader,
    refused: ['X User', 'X:User', ''],
  },
  'audit-trusted-range': {
    text: '10.0.0.0/8,::1',
    read: ['10.0.0.0/8', '::1'],
    of: (s) => s.auditTrustedRange,
    refused: ['10.0.0.0/33', 'fe80::/129', '10.0.0/8', 'localhost', '10.0.0.0/8/8', ''],
  },
  'cors-origin': {
    text: 'https://ui.example.com',
    read: ['https://ui.example.com'],
    of: (s) => s.corsOrigin,
    refused: ['ui.example.com', 'https://ui.example.com/path', ''],
  },
  'otlp-grpc': { text: 'off', read: 'off', of: (s) => s.otlpGrpc, refused: ['no', 'OFF', ''] },
  'otlp-protobuf': { text: 'all', read: 'all', of: (s) => s.otlpProtobuf, refused: ['logs', 'ALL', ''] },
  audit: { text: 'sync', read: 'sync', of: (s) => s.audit, refused: ['async', 'SYNC', ''] },
  'log-level': { text: 'debug', read: 'debug', of: (s) => s.logLevel, refused: ['loud', 'INFO', ''] },
};
const rowEntries = Object.entries(rows) as [Exclude<FlagName, 'config-file'>, (typeof rows)['host']][];

/** A value for the config file that is allowed there and, but for plain strings, is another than the row's. */
const valueInFile = (name: FlagName, text: string): unknown => {
  const { type, minimum, items } = flags[name].schema;
  if (type === 'integer' || type === 'number') return minimum;
  if (type !== 'array') return text;
  if (name === 'cors-origin') return ['*'];
  return items === undefined || name === 'audit-trusted-range' ? ['192.0.2.1'] : ['a-key-of-the-file-1'];
};

describe('every flag', () => {
  it('has a row here, so that none is added without a test', () => {
    expect(Object.keys(rows).toSorted()).toEqual(flagNames.filter((name) => name !== 'config-file').toSorted());
  });

  for (const [name, { text, read: expected, of, refused }] of rowEntries) {
    it(`--${name} is read from the command line, else from ${environmentName(name)}, else from the config file, else its default holds`, () => {
      const other = {
        'svc.json': JSON.stringify({
          [snakeName(name)]:
            typeof expected === 'string' || typeof expected === 'number' ? expected : [expected].flat(),
        }),
      };
      expect(of(settingsOf({ [name]: [text] }))).toEqual(expected);
      expect(of(settingsOf({}, { [environmentName(name)]: text }))).toEqual(expected);
      const fromFile = settingsOf({ 'config-file': ['svc.json'] }, {}, other);
      expect(of(fromFile)).toEqual(expected);
      expect(fromFile.sources[name]).toBe('config file');
      expect(of(settingsOf({}))).not.toEqual(expected);
      expect(settingsOf({}).sources[name]).toBe('default');
    });

    it(`--${name} wins over the environment, and the environment over the config file`, () => {
      const files = { 'svc.json': JSON.stringify({ [snakeName(name)]: valueInFile(name, text) }) };
      const wrong = refused[0] ?? '';
      expect(of(settingsOf({ [name]: [text] }, { [environmentName(name)]: wrong }))).toEqual(expected);
      const fromEnvironment = settingsOf({ 'config-file': ['svc.json'] }, { [environmentName(name)]: text }, files);
      expect(of(fromEnvironment)).toEqual(expected);
      expect(fromEnvironment.sources[name]).toBe('environment');
    });

    for (const bad of refused)
      it(`refuses --${name} ${JSON.stringify(bad.slice(0, 24))} in one line that names the flag, or the variable it came from`, () => {
        const fromFlag = problemOf({ [name]: [bad] });
        expect(fromFlag).toMatch(new RegExp(`^--${name}: `));
        expect(fromFlag).not.toContain('\n');
        expect(problemOf({}, { [environmentName(name)]: bad })).toMatch(new RegExp(`^${environmentName(name)}: `));
      });
  }
});

describe('the config file itself', () => {
  it('is named by --config-file, else by SVCD_CONFIG_FILE', () => {
    const files = { a: '{"port": 1}', b: '{"port": 2}' };
    expect(settingsOf({ 'config-file': ['a'] }, { SVCD_CONFIG_FILE: 'b' }, files).port).toBe(1);
    expect(settingsOf({}, { SVCD_CONFIG_FILE: 'b' }, files).port).toBe(2);
    expect(problemOf({}, { SVCD_CONFIG_FILE: 'c' }, files)).toBe('SVCD_CONFIG_FILE: c: there is no such file');
  });
});

describe('defaults', () => {
  it('are those of the decisions: 127.0.0.1, 4317, svc.db, svc-runs.db, default, 1.0, no retention, no quota, 32 MiB, 10,000, 30 s, 400 days', () => {
    expect(settingsOf({})).toMatchObject({
      host: '127.0.0.1',
      port: 4317,
      data: 'svc.db',
      runsData: 'svc-runs.db',
      project: 'default',
      sample: 1,
      maxBodyBytes: 33_554_432,
      maxBatchSignals: 10_000,
      requestTimeoutSeconds: 30,
      auditRetentionDays: 400,
      auditSubjectHeader: 'X-Svc-Subject',
      auditTrustedRange: [],
      corsOrigin: ['*'],
      maxDescendants: 100_000,
      leaseTtlMs: 30_000,
      reclaimWindowMs: 5_000,
      offerTtlMs: 5_000,
      monitorIntervalSeconds: 60,
    });
    expect(settingsOf({})).not.toHaveProperty('retentionDays');
    expect(settingsOf({})).not.toHaveProperty('quotaPerMinute');
  });

  it('let a gzip body inflate to four times --max-body-bytes', () => {
    expect(settingsOf({}).maxInflatedBytes).toBe(4 * 33_554_432);
    expect(settingsOf({ 'max-body-bytes': ['1000'] }).maxInflatedBytes).toBe(4000);
    expect(settingsOf({ 'max-body-bytes': ['1000'], 'max-inflated-bytes': ['1500'] }).maxInflatedBytes).toBe(1500);
  });

  it('--runs-data off leaves no file of runs', () => {
    expect(settingsOf({ 'runs-data': ['off'] })).not.toHaveProperty('runsData');
  });

  it('takes the last of a flag that holds one value', () => {
    expect(settingsOf({ port: ['1', '2'] }).port).toBe(2);
  });
});

describe('both sides of each bound', () => {
  const bounds: readonly [FlagName, string, string, string, string][] = [
    ['port', '0', '65535', '-1', '65536'],
    ['sample', '0', '1', '-0.0001', '1.0001'],
    ['retention-days', '1', '36525', '0', '36526'],
    ['max-body-bytes', '1', '268435456', '0', '268435457'],
    ['request-timeout-seconds', '1', '3600', '0', '3601'],
  ];
  for (const [name, lowest, highest, below, above] of bounds)
    it(`--${name} takes ${lowest} and ${highest}, and refuses ${below} and ${above}`, () => {
      expect(read({ [name]: [lowest] }).ok).toBe(true);
      expect(read({ [name]: [highest] }).ok).toBe(true);
      expect(read({ [name]: [below] }).ok).toBe(false);
      expect(read({ [name]: [above] }).ok).toBe(false);
    });
});

describe('keys', () => {
  const long = (letter: string): string => letter.repeat(16);

  it('repeat, stand in a comma list, or come from a file with one key a line', () => {
    const files = { 'keys.txt': `${long('c')}\n\n  ${long('d')}\r\n` };
    const { keys } = settingsOf({ 'read-key': [long('a'), `${long('b')},@no`, '@keys.txt'] }, {}, files);
    expect(keys.read).toEqual([long('a'), long('b'), '@no', long('c'), long('d')]);
  });

  it('come from a file that the environment names', () => {
    expect(settingsOf({}, { SVCD_ADMIN_KEY: '@k' }, { k: long('z') }).keys.admin).toEqual([long('z')]);
  });

  it('refuse a file that is missing, and one that holds no key: an empty list would open the door', () => {
    expect(problemOf({ 'read-key': ['@none'] })).toBe('--read-key: none: there is no such file');
    expect(problemOf({ 'read-key': ['@empty'] }, {}, { empty: '\n \n' })).toBe('--read-key: empty: holds no key');
  });

  it('never stand in a refusal', () => {
    expect(problemOf({ 'read-key': ['correct horse'] })).not.toContain('horse');
    expect(problemOf({}, { SVCD_READ_KEY: 'correct horse' })).not.toContain('horse');
    expect(problemOf({ 'colstore-password': ['canary\nline two'] })).not.toContain('canary');
  });

  it('are counted in a warning when they are shorter than 16 characters', () => {
    expect(settingsOf({ 'read-key': ['short', long('a')] }).warnings).toEqual([
      '--read-key: 1 of 2 keys are shorter than 16 characters and can be guessed',
    ]);
    expect(settingsOf({ 'read-key': ['x'.repeat(15)] }).warnings).toHaveLength(1);
    expect(settingsOf({ 'read-key': ['x'.repeat(16)] }).warnings).toEqual([]);
  });

  it('of a project warn with their path', () => {
    const files = { f: JSON.stringify({ projects: { shop: { keys: { read: ['tiny'] } } } }) };
    expect(settingsOf({ 'config-file': ['f'] }, {}, files).warnings[0]).toMatch(/^projects\.shop\.keys\.read: 1 of 1/);
  });
});

describe('files with secrets that every user of the machine may read', () => {
  const keys = 'a-key-of-more-than-sixteen-characters';
  const warningsOf = (
    given: GivenFlags,
    files: Files,
    publicFiles: readonly string[] = Object.keys(files),
  ): readonly string[] => {
    const result = readSettings({
      given,
      environment: {},
      readTextFile: fileReader(files),
      isPublic: (path) => publicFiles.includes(path),
    });
    if (!result.ok) throw new Error(result.problem);
    return result.value.warnings;
  };

  it('a key file is warned about, one that they may not read is not', () => {
    expect(warningsOf({ 'read-key': ['@r', '@closed'] }, { r: keys, closed: `${keys}2` }, ['r'])).toEqual([
      'r holds secrets, and every user of this machine may read it: chmod o-r r',
    ]);
  });

  it.each([
    ['keys of a project', { projects: { shop: { keys: { read: [keys] } } } }],
    ['keys', { read_key: [keys] }],
    ['a hash key', { redaction: { hash_identifiers: ['user_id'], hash_key: 'x' } }],
    [
      'a webhook',
      {
        monitors: [
          {
            id: 'm',
            watch: 'cost',
            compare: 'above',
            threshold: 1,
            window_seconds: 60,
            webhook: 'https://hooks.example/s3cret',
          },
        ],
      },
    ],
    ['headers of the forwarding', { forward: { endpoint: 'https://otlp.example', headers: { authorization: 'x' } } }],
  ])('a config file with %s is warned about', (_what, config) => {
    expect(warningsOf({ 'config-file': ['c'] }, { c: JSON.stringify(config) })).toEqual([
      'c holds secrets, and every user of this machine may read it: chmod o-r c',
    ]);
  });

  it('a config file without secrets is not', () => {
    expect(warningsOf({ 'config-file': ['c'] }, { c: JSON.stringify({ port: 4000, retention_days: 3 }) })).toEqual([]);
  });

  it('goes by the permissions of the file', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'svc-keys-')), 'keys');
    writeFileSync(path, keys);
    const warnings = (mode: number): number => {
      chmodSync(path, mode);
      const result = readSettings({ given: { 'read-key': [`@${path}`] }, environment: {} });
      if (!result.ok) throw new Error(result.problem);
      return result.value.warnings.length;
    };
    expect([0o600, 0o640, 0o644, 0o604].map(warnings)).toEqual([0, 0, 1, 1]);
  });
});

it('what a flag does not take is refused in one line that names the flag, the value and what it takes', async () => {
  const lines = rowEntries.flatMap(([name, { refused }]) =>
    refused.map((text) => {
      const problem = problemOf({ [name]: [text] });
      expect(problem).not.toContain('\n');
      return `--${name} ${JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)}\n  ${problem.length > 300 ? `${problem.slice(0, 300)}…` : problem}`;
    }),
  );
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('refused-flags.txt');
});

describe('what cannot be', () => {
  it('one file for signals and runs, however it is spelled', () => {
    expect(problemOf({ data: ['a/../x.db'], 'runs-data': ['x.db'] })).toMatch(/^--runs-data: /);
  });

  it('two stores for signals', () => {
    expect(problemOf({ 'sqlstore-url': ['postgres://u@db/a'], 'colstore-url': ['http://ch'] })).toMatch(
      /^--sqlstore-url: /,
    );
  });

  it('a SVCD_ variable that names no flag is a warning, without its value', () => {
    const { warnings } = settingsOf({}, { SVCD_READ_KEYS: 'secret-secret-secret' });
    expect(warnings).toEqual(['environment variable SVCD_READ_KEYS names no flag and is not read']);
  });
});

describe('monitors, objectives and the judge', () => {
  const config = {
    projects: { shop: { retention_days: 7, quota_per_minute: 10, sample: 0.5, keys: { ingest: ['k'.repeat(16)] } } },
    redaction: { keys: ['ssn'], hash_identifiers: ['user_id'], hash_key: 'h' },
    forward: { endpoint: 'https://otel.example.com', headers: { authorization: 'Bearer x' } },
    judge: { endpoint: 'http://127.0.0.1:9/v1', model: 'm', criteria: { polite: 'Is it polite?' } },
    monitor_interval_seconds: 5,
    monitors: [
      { id: 'errors', watch: 'error_rate', compare: 'above', threshold: 0.1, window_seconds: 600 },
      { id: 'steps', watch: 'step_count_divergence', window_seconds: 600, enabled: false },
    ],
    slos: [{ id: 'fine', objective: 0.995, window_days: 30, project: 'shop', name: 'Fine' }],
  };

  it('get the defaults of the specification: min_samples 20, enabled, timeout 30 s, the daemon project, the id as the name', () => {
    const settings = settingsOf({ 'config-file': ['f'], project: ['main'] }, {}, { f: JSON.stringify(config) });
    expect(settings.monitors[0]).toEqual({
      ...config.monitors[0],
      name: 'errors',
      project: 'main',
      enabled: true,
      min_samples: 20,
    });
    expect(settings.slos[0]).toMatchObject({ name: 'Fine', project: 'shop', min_samples: 20 });
    expect(settings.judge).toMatchObject({ timeout_seconds: 30, api_key: '' });
    expect(settings.monitorIntervalSeconds).toBe(5);
    expect(settings.projects['shop']).toEqual(config.projects.shop);
    expect(settings.redaction).toEqual(config.redaction);
    expect(settings.forward).toEqual(config.forward);
  });
});
