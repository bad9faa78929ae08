import { describe, expect, it } from 'vitest';
import { parseConfigFile } from '../../src/cli/config-file.ts';

const faultOf = (file: unknown): string => {
  const parsed = parseConfigFile(typeof file === 'string' ? file : JSON.stringify(file));
  if (parsed.ok) throw new Error('the file was taken');
  const { path, problem } = parsed.fault;
  expect(problem).not.toContain('\n');
  return path === '' ? problem : `${path}: ${problem}`;
};
const isTaken = (file: unknown): boolean => parseConfigFile(JSON.stringify(file)).ok;

const monitor = { id: 'm', watch: 'error_rate', compare: 'above', threshold: 0.1, window_seconds: 60 };
const slo = { id: 's', objective: 0.99, window_days: 30 };
const judge = { endpoint: 'https://api.example.com/v1', model: 'm', criteria: { polite: 'Polite?' } };
const withoutKey = <T extends object>(from: T, key: keyof T): Partial<T> => {
  const { [key]: _, ...rest } = from;
  return rest as Partial<T>;
};

describe('a config file that stops the start is refused in one line that names the path', () => {
  const rows: readonly [string, unknown, string | RegExp][] = [
    ['an unknown key at the top', { monitor: [] }, 'monitor: unknown key; did you mean monitors?'],
    ['an unknown key like no other', { colour: 1 }, /^colour: unknown key; known keys: host, port, /],
    ['a flag that only the command line may hold', { config_file: 'x' }, /^config_file: unknown key/],
    [
      'an unknown key in a project',
      { projects: { shop: { retention: 1 } } },
      /^projects\.shop\.retention: unknown key/,
    ],
    [
      'an unknown scope',
      { projects: { shop: { keys: { reed: ['k'] } } } },
      'projects.shop.keys.reed: unknown key; did you mean read?',
    ],
    ['an unknown key in redaction', { redaction: { key: [] } }, 'redaction.key: unknown key; did you mean keys?'],
    ['an unknown key in forward', { forward: { endpoint: 'http://x', url: 1 } }, /^forward\.url: unknown key/],
    ['an unknown key in judge', { judge: { ...judge, temperature: 1 } }, /^judge\.temperature: unknown key/],
    [
      'an unknown key in a monitor',
      { monitors: [{ ...monitor, treshold: 1 }] },
      'monitors[0].treshold: unknown key; did you mean threshold?',
    ],
    ['enabled on an objective', { slos: [{ ...slo, enabled: true }] }, /^slos\[0\]\.enabled: unknown key/],
    ['a string for a number', { port: '80' }, 'port: must be an integer, is a string'],
    ['a number for an array', { monitors: 3 }, 'monitors: must be an array, is 3'],
    ['null for an object', { projects: { shop: null } }, 'projects.shop: must be an object, is null'],
    ['an array at the top', [], 'must be an object, is an array'],
    ['a port that no machine has', { port: 65_536 }, 'port: must be at most 65535, is 65536'],
    ['half a day', { retention_days: 0.5 }, 'retention_days: must be an integer, is 0.5'],
    ['no day', { projects: { shop: { retention_days: 0 } } }, 'projects.shop.retention_days: must be at least 1, is 0'],
    ['a sample above 1', { projects: { shop: { sample: 1.5 } } }, 'projects.shop.sample: must be at most 1, is 1.5'],
    ['a sample below 0', { projects: { shop: { sample: -0.1 } } }, 'projects.shop.sample: must be at least 0, is -0.1'],
    [
      'a quota of nothing',
      { projects: { shop: { quota_per_minute: 0 } } },
      'projects.shop.quota_per_minute: must be at least 1, is 0',
    ],
    [
      'a project called *',
      { projects: { '*': {} } },
      'projects["*"]: must be 1 to 256 characters, none of them a control character, and not `*`',
    ],
    [
      'a key with a space',
      { projects: { shop: { keys: { read: ['a b'] } } } },
      'projects.shop.keys.read[0]: must be 1 to 512 characters of printable ASCII, without spaces',
    ],
    [
      'an identifier that cannot be hashed',
      { redaction: { hash_identifiers: ['name'], hash_key: 'k' } },
      /^redaction\.hash_identifiers\[0\]: must be one of user_id, /,
    ],
    [
      'hashing without a key',
      { redaction: { hash_identifiers: ['user_id'] } },
      'redaction.hash_key: is missing: hash_identifiers needs it',
    ],
    ['a forward without a target', { forward: {} }, 'forward.endpoint: is missing'],
    [
      'a forward to a file',
      { forward: { endpoint: 'file:///etc' } },
      'forward.endpoint: must be a URL that begins with http:// or https://',
    ],
    [
      'a key of the judge that no header can carry',
      { judge: { endpoint: 'http://x', model: 'm', api_key: 'key\n', criteria: { kind: 'Is it kind?' } } },
      'judge.api_key: holds a character that no header may hold',
    ],
    [
      'a header with a line break',
      { forward: { endpoint: 'http://x', headers: { a: 'b\r\nc' } } },
      'forward.headers.a: holds a character that no header may hold',
    ],
    ['a judge without a model', { judge: withoutKey(judge, 'model') }, 'judge.model: is missing'],
    [
      'a criterion under the id of a built-in scorer',
      { judge: { ...judge, criteria: { answered: 'Is there one?' } } },
      'judge.criteria.answered: is the id of a built-in scorer; choose another',
    ],
    ['a judge without criteria', { judge: { ...judge, criteria: {} } }, 'judge.criteria: must not be empty'],
    [
      'a judge that never answers in time',
      { judge: { ...judge, timeout_seconds: 0 } },
      'judge.timeout_seconds: must be at least 1, is 0',
    ],
    [
      'a judge that waits too long',
      { judge: { ...judge, timeout_seconds: 301 } },
      'judge.timeout_seconds: must be at most 300, is 301',
    ],
    ['a judge at no URL', { judge: { ...judge, endpoint: 'http://[::' } }, 'judge.endpoint: is not a URL'],
    [
      'an unknown watch',
      { monitors: [{ ...monitor, watch: 'mood' }] },
      /^monitors\[0\]\.watch: must be one of error_rate, latency_p95, /,
    ],
    [
      'a monitor of a mean without its scorer',
      { monitors: [{ ...monitor, watch: 'score_mean' }] },
      'monitors[0].scorer_id: is missing: watch score_mean needs it',
    ],
    [
      'a scorer that nothing reads',
      { monitors: [{ ...monitor, scorer_id: 'x' }] },
      'monitors[0].scorer_id: is read by watch score_mean alone',
    ],
    [
      'two monitors of one id',
      { monitors: [monitor, { ...monitor, threshold: 1 }] },
      'monitors[1].id: is "m" a second time',
    ],
    ['two objectives of one id', { slos: [slo, slo] }, 'slos[1].id: is "s" a second time'],
    [
      'a monitor without a threshold',
      { monitors: [withoutKey(monitor, 'threshold')] },
      'monitors[0].threshold: is missing',
    ],
    [
      'a monitor without a direction',
      { monitors: [withoutKey(monitor, 'compare')] },
      'monitors[0].compare: is missing',
    ],
    [
      'a monitor without a window',
      { monitors: [withoutKey(monitor, 'window_seconds')] },
      'monitors[0].window_seconds: is missing',
    ],
    [
      'an unknown direction',
      { monitors: [{ ...monitor, compare: 'over' }] },
      'monitors[0].compare: must be one of above, below',
    ],
    [
      'a webhook that is no URL',
      { monitors: [{ ...monitor, webhook: 'hooks.example.com' }] },
      'monitors[0].webhook: must be a URL that begins with http:// or https://',
    ],
    [
      'a webhook that only looks like a URL',
      { slos: [{ ...slo, webhook: 'http://a:b:c' }] },
      'slos[0].webhook: is not a URL',
    ],
    ['an objective of 0', { slos: [{ ...slo, objective: 0 }] }, 'slos[0].objective: must be above 0, is 0'],
    ['an objective of 1', { slos: [{ ...slo, objective: 1 }] }, 'slos[0].objective: must be below 1, is 1'],
    ['an interval of nothing', { monitor_interval_seconds: 0 }, 'monitor_interval_seconds: must be at least 1, is 0'],
    [
      'a path in an id',
      { monitors: [{ ...monitor, id: 'a/b' }] },
      'monitors[0].id: must be 1 to 128 letters, digits, dots, underscores, colons and hyphens, the first a letter or a digit',
    ],
  ];
  for (const [title, file, line] of rows)
    it(title, () => {
      const fault = faultOf(file);
      if (typeof line === 'string') expect(fault).toBe(line);
      else expect(fault).toMatch(line);
    });

  it('broken JSON, by its line, without repeating what stands there', () => {
    const fault = faultOf('{\n  "read_key": ["very-secret-key-1"],,\n}');
    expect(fault).toMatch(/^is not valid JSON/);
    expect(fault).toContain('line 2');
    expect(fault).not.toContain('secret');
  });

  it('a value of the wrong type without repeating it', () => {
    expect(faultOf({ judge: { ...judge, api_key: ['sk-very-secret'] } })).toBe(
      'judge.api_key: must be a string, is an array',
    );
    expect(faultOf({ redaction: { hash_key: { k: 'sk-very-secret' } } })).not.toContain('secret');
  });
});

describe('a config file that is taken', () => {
  it('may hold nothing, or only the address of its schema', () => {
    expect(isTaken({})).toBe(true);
    expect(isTaken({ $schema: './spec/config.schema.json' })).toBe(true);
  });

  it('holds any flag, and every block at its bounds', () => {
    expect(isTaken({ port: 0, sample: 0, read_key: ['k'], cors_origin: ['*'], runs_data: 'off' })).toBe(true);
    expect(isTaken({ projects: { a: { sample: 0 }, b: { sample: 1, retention_days: 1, quota_per_minute: 1 } } })).toBe(
      true,
    );
    expect(isTaken({ judge: { ...judge, timeout_seconds: 1 } })).toBe(true);
    expect(isTaken({ judge: { ...judge, timeout_seconds: 300, api_key: '' } })).toBe(true);
    expect(isTaken({ slos: [{ ...slo, objective: 0.000_001 }] })).toBe(true);
    expect(isTaken({ slos: [{ ...slo, objective: 0.999_999 }] })).toBe(true);
    expect(
      isTaken({ monitors: [{ ...monitor, watch: 'score_mean', scorer_id: 'answered' }], slos: [{ ...slo, id: 'm' }] }),
    ).toBe(true);
  });

  it('lets step_count_divergence go without a threshold', () => {
    expect(isTaken({ monitors: [{ id: 'd', watch: 'step_count_divergence', window_seconds: 60 }] })).toBe(true);
  });

  it('keeps a project called __proto__ as a plain key', () => {
    const parsed = parseConfigFile('{"projects":{"__proto__":{"retention_days":3}}}');
    expect(parsed.ok && Object.keys(parsed.value.projects ?? {})).toEqual(['__proto__']);
    expect(({} as { retention_days?: number }).retention_days).toBeUndefined();
  });
});
