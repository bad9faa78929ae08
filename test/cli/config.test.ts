import { expect, it } from 'vitest';
import { describeSettings } from '../../src/cli/config.ts';
import { readSettings, type Settings } from '../../src/cli/settings.ts';

const settingsOf = (flags: Record<string, string[]>, config: object): Settings => {
  const result = readSettings({
    given: { ...flags, 'config-file': ['f'] },
    environment: {},
    readTextFile: () => JSON.stringify(config),
  });
  if (!result.ok) throw new Error(result.problem);
  return result.value;
};

const monitor = { id: 'a', watch: 'error_rate', compare: 'above', threshold: 1, window_seconds: 60 };

it('prints how many monitors are armed: those that are enabled', () => {
  const monitors = [monitor, { ...monitor, id: 'b', enabled: false }, { ...monitor, id: 'c', enabled: true }];
  const slos = [{ id: 's', objective: 0.9, window_days: 1 }];
  expect(describeSettings(settingsOf({}, { monitors, slos }))).toMatchObject({ monitors_armed: 2, slos_armed: 1 });
  expect(describeSettings(settingsOf({}, {}))).toMatchObject({ monitors_armed: 0, slos_armed: 0 });
});

it('prints each effective value and where it came from', () => {
  const shown = describeSettings(settingsOf({ port: ['99'] }, { retention_days: 7 }));
  expect(shown).toMatchObject({ port: 99, retention_days: 7, host: '127.0.0.1', runs_data: 'svc-runs.db' });
  expect(shown['sources']).toEqual({ port: 'flag', retention_days: 'config file', config_file: 'flag' });
  expect(describeSettings(settingsOf({ 'runs-data': ['off'] }, {}))).toMatchObject({ runs_data: 'off' });
});

it('prints the kind of the signal store and what it promises, in the words of `/readyz`', () => {
  expect(describeSettings(settingsOf({}, {}))).toMatchObject({
    storage: 'sqlite',
    capabilities: {
      deletes: 'immediate',
      idempotency: 'exact',
      atomicity: 'unit',
      longest_word_bytes: 32_768,
      order: 'arrival',
    },
  });
});

it('prints keys as a count and their last four characters, and of a short key nothing', () => {
  const shown = describeSettings(settingsOf({ 'read-key': ['abcdefghijklmnop', 'short'] }, {}));
  expect(shown['read_key']).toEqual({ count: 2, last_characters: ['...mnop', '...'] });
  expect(shown['admin_key']).toEqual({ count: 0, last_characters: [] });
});

it('never prints a secret: keys, passwords, headers, hash and API keys, paths and users of URLs', () => {
  const secret = (what: string): string => `canary-${what}-canary-0000`;
  const shown = JSON.stringify(
    describeSettings(
      settingsOf(
        {
          'ingest-key': [secret('ingest')],
          'worker-key': [secret('worker')],
          'colstore-url': [`https://ch.example.com:8443/${secret('path')}`],
          'colstore-password': [secret('colstore')],
        },
        {
          projects: { shop: { keys: { read: [secret('project')] } } },
          redaction: { hash_identifiers: ['user_id'], hash_key: secret('hash') },
          forward: {
            endpoint: `https://otel.example.com/${secret('forward')}`,
            headers: { 'x-token': secret('header') },
          },
          judge: {
            endpoint: `https://api.example.com/${secret('judge')}`,
            model: 'm',
            api_key: secret('api'),
            criteria: { c: 'q' },
          },
          monitors: [{ ...monitor, webhook: `https://hooks.example.com/${secret('webhook')}?t=${secret('query')}` }],
          slos: [{ id: 's', objective: 0.9, window_days: 1, webhook: `https://hooks.example.com/${secret('slo')}` }],
        },
      ),
    ),
  );
  expect(shown).not.toContain('canary');
  for (const origin of [
    'https://ch.example.com:8443',
    'https://otel.example.com',
    'https://api.example.com',
    'https://hooks.example.com',
  ])
    expect(shown).toContain(`"${origin}"`);
  expect(shown).toContain('"hash_key":"set"');
  expect(shown).toContain('"api_key":"set"');
  expect(shown).toContain('"colstore_password":"set"');
});
