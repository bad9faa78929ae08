import { SERVICE } from '../../src/model/definition/owner.ts';
import { builtinPriceBook } from '../../src/ingest/price-book.ts';
import { describe, expect, it } from 'vitest';
import { examine } from '../../src/cli/doctor/examine.ts';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import { examineForwarding } from '../../src/cli/doctor/forwarding.ts';
import { reportText } from '../../src/cli/doctor/text.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { aScore } from '../http/factories.ts';
import { aDeployment, aProject, aSpan, DAY, type Given, NOW, runsOf, SECOND, said, signalsOf } from './deployments.ts';

const key = (scope: string): string => `${scope}-key-0123456789`;
const OPEN = { host: ['0.0.0.0'] };
const keyed = { 'ingest-key': [key('ingest')], 'read-key': [key('read')], 'admin-key': [key('admin')] };
const monitor = { id: 'm', watch: 'error_rate', compare: 'above', threshold: 1, window_seconds: 60 };

/** One row a finding: the group, what the deployment is, and the line that must be there. */
type Row = readonly [name: string, group: string, given: Given, line: RegExp];

const rows: readonly Row[] = [
  // keys: "Every scope with its inheritance made explicit, including the case of no admin key"
  [
    'Faults include: read scope open on a non-loopback address',
    'keys',
    { flags: OPEN },
    /^fault: read: open on 0\.0\.0\.0: anyone who reaches it can read every stored prompt.* -> set --read-key$/,
  ],
  [
    'An open ingest scope on a non-loopback address is a warning',
    'keys',
    { flags: OPEN },
    /^warning: ingest: open on 0\.0\.0\.0.* -> set --ingest-key$/,
  ],
  [
    'an open write scope there is a warning',
    'keys',
    { flags: OPEN },
    /^warning: write: .*--write-key or --ingest-key$/,
  ],
  ['an open admin scope there is a fault', 'keys', { flags: OPEN }, /^fault: admin: .* can delete traces/],
  ['an open worker scope there is a fault', 'keys', { flags: OPEN }, /^fault: worker: .*-> set --worker-key/],
  ['an open execute scope there is a warning', 'keys', { flags: OPEN }, /^warning: execute: .*-> set --execute-key/],
  ['an open scope on loopback is ok', 'keys', {}, /^ok: read: no key guards it; 127\.0\.0\.1 is reached from this/],
  [
    'no admin key: the scope falls back to the read list, and a read key can delete',
    'keys',
    { flags: { 'read-key': [key('read')] } },
    /^warning: admin: no admin key is set.*a read key can delete traces.* -> set --admin-key$/,
  ],
  ['a key of its own', 'keys', { flags: keyed }, /^ok: admin: 1 key of its own; 1 key in all$/],
  [
    'execute and worker fall back to the write keys',
    'keys',
    { flags: { ...keyed, 'write-key': [key('write')] } },
    /^ok: execute: no key of its own, falls back to the keys of .*write/,
  ],
  [
    'write falls back to the ingest keys',
    'keys',
    { flags: keyed },
    /^ok: write: no key of its own, falls back to the keys of ingest/,
  ],
  ['runs off: execute is not served', 'keys', { flags: { ...OPEN, 'runs-data': ['off'] } }, /^ok: execute: not served/],
  [
    'a key that can be guessed',
    'keys',
    { flags: { 'read-key': ['short'] } },
    /^warning: --read-key: 1 of 1 keys are shorter/,
  ],

  // runs: "counts of definition versions and in-progress runs; whether the runs surface needs a key on a reachable address"
  [
    'counts of definition versions and in-progress runs',
    'runs',
    { runs: runsOf({ counts: async () => ({ definitionVersions: 3, openRuns: 1, quarantined: 0 }) }) },
    /^ok: 3 definition versions, 1 durable run in progress$/,
  ],
  [
    'the runs surface without a key on a reachable address',
    'runs',
    { flags: OPEN },
    /^fault: no key guards the runs surface on 0\.0\.0\.0/,
  ],
  [
    'the runs surface with keys',
    'runs',
    { flags: { ...OPEN, ...keyed } },
    /^ok: starting durable runs and serving their steps needs a key$/,
  ],
  ['runs off', 'runs', { flags: { 'runs-data': ['off'] } }, /^skipped: durable runs are off \(--runs-data off\)$/],
  [
    'a quarantined actor is a fault',
    'runs',
    { runs: runsOf({ counts: async () => ({ definitionVersions: 1, openRuns: 1, quarantined: 2 }) }) },
    /^fault: 2 actors quarantined: this release cannot load them.* -> .*status=quarantined/,
  ],
  [
    'a stuck run is a fault',
    'runs',
    { runs: runsOf({ stuckRuns: async () => [{ runId: 'r-1', project: 'p' }] }) },
    /^fault: 1 durable run that nothing will ever move: "r-1"/,
  ],
  [
    'a key of which nothing has moved for an hour',
    'runs',
    {
      runs: runsOf({
        stalledKeys: async (movedBefore) => [
          {
            limitId: 'l-1',
            project: 'p',
            definitionId: 'refund',
            stepId: 'pay',
            waiting: 2,
            movedAt: movedBefore - 60 * 60 * 1000,
          },
        ],
      }),
    },
    /^warning: 2 durable runs wait for a key of refund, step pay, in project p of which nothing has moved for 2 hours -> npx svc actors limit l-1 names its holders/,
  ],
  [
    'a schedule that never fired though it was due',
    'runs',
    {
      runs: runsOf({
        idleSchedules: async (now) => [
          { id: 'nightly', project: 'p', idle: { kind: 'never_fired', dueAt: now - (now % 1000) - 3_600_000 } },
        ],
      }),
    },
    /^warning: schedule "nightly" of project "p" has never fired, though it was due at \d{4}-\d\d-\d\dT[\d:.]+Z -> start the service; where it runs, see its log/,
  ],
  [
    'a schedule whose last times were all skipped',
    'runs',
    {
      runs: runsOf({
        idleSchedules: async () => [
          { id: 'nightly', project: 'p', idle: { kind: 'skipping', skipped: 3, since: 0, reason: 'input_invalid' } },
        ],
      }),
    },
    /^warning: schedule "nightly" of project "p" started no run at its last 3 times, since 1970-01-01T00:00:00Z: the newest was skipped as input_invalid -> give the schedule an input that the schema of its definition takes$/,
  ],
  [
    'a paused definition with due work',
    'runs',
    {
      runs: runsOf({
        pausedWork: async () => [{ owner: SERVICE, id: 'refund', since: 0, reason: 'broken', runs: 1, isMore: false }],
      }),
    },
    /^warning: definition "refund" is paused since 1970-01-01T00:00:00Z \("broken"\), and 1 queued run waits for it -> npx svc definitions resume refund lets it go on$/,
  ],
  [
    'a paused definition of a project, with more due work than was counted',
    'runs',
    {
      runs: runsOf({ pausedWork: async () => [{ owner: 'shop', id: 'refund', since: 0, runs: 1000, isMore: true }] }),
    },
    /^warning: definition "refund" of project "shop" is paused since .*Z, and at least 1000 queued runs wait for it -> npx svc definitions resume refund --project shop lets them go on$/,
  ],
  [
    'a pinned version that no worker registered',
    'runs',
    { runs: runsOf({ pinnedVersions: async () => [{ owner: SERVICE, id: 'refund', version: 2, openRuns: 5 }] }) },
    /^warning: no worker has registered "refund" version 2, which 5 open durable runs are pinned to -> start a worker/,
  ],
  [
    'a pinned version of a project, which only workers of that project serve',
    'runs',
    {
      runs: runsOf({
        pinnedVersions: async () => [{ owner: 'shop', id: 'refund', version: 2, openRuns: 1 }],
        workers: async () => [
          { owner: SERVICE, definitions: [{ id: 'refund', version: 2 }], lastSeenAt: Number(NOW / 1_000_000n) },
        ],
      }),
    },
    /^warning: no worker has registered "refund" version 2 of project "shop", which 1 open durable run is pinned to -> start a worker that registers refund version 2 with a key of that project/,
  ],
  ...(
    [
      [
        'a pinned version whose workers are all silent',
        NOW / 1_000_000n - 120_001n,
        /^warning: no live worker holds "refund" version 2/,
      ],
      [
        'a pinned version that a live worker holds',
        NOW / 1_000_000n - 120_000n,
        /^ok: a live worker holds "refund" version 2/,
      ],
      [
        'a pinned version seen from outside',
        undefined,
        /^skipped: 1 worker registered "refund" version 2.*only the running service/,
      ],
    ] as const
  ).map(
    ([name, seen, line]): Row => [
      name,
      'runs',
      {
        runs: runsOf({
          pinnedVersions: async () => [{ owner: SERVICE, id: 'refund', version: 2, openRuns: 1 }],
          workers: async () => [
            {
              owner: SERVICE,
              definitions: [{ id: 'refund', version: 2 }],
              ...(seen === undefined ? {} : { lastSeenAt: Number(seen) }),
            },
            { owner: SERVICE, definitions: [{ id: 'refund', version: 1 }], lastSeenAt: Number(NOW / 1_000_000n) },
          ],
        }),
      },
      line,
    ],
  ),

  // identity: "The audit subject header and whether the address range allowed to set it is narrow enough"
  ['no range', 'identity', {}, /^ok: no address may set X-Svc-Subject/],
  ...['0.0.0.0/0', '::/0', '0.0.0.0/1,128.0.0.0/1', '::ffff:0.0.0.0/96', '10.0.0.0/8,0.0.0.0/0', '::/1,8000::/1'].map(
    (range): Row => [
      `Faults include: a trusted-identity range containing the whole internet: ${range}`,
      'identity',
      { flags: { 'audit-trusted-range': [range] } },
      /^fault: .*holds the whole internet.* -> narrow --audit-trusted-range/,
    ],
  ),
  ...['0.0.0.0/1', '8.8.0.0/16', '8.8.8.0/23', '2001:db8::/32', '2001:db8::/47', '::ffff:8.8.0.0/112'].map(
    (range): Row => [
      `too wide: ${range}`,
      'identity',
      { flags: { 'audit-trusted-range': [range] } },
      /^warning: .* which is more than the proxies/,
    ],
  ),
  ...[
    '10.0.0.0/8',
    '127.0.0.1',
    '192.168.1.0/24',
    '8.8.8.0/24',
    '8.8.8.8',
    '2001:db8::/48',
    'fd00::/8',
    '::1',
    '::ffff:10.1.2.3',
  ].map(
    (range): Row => [
      `narrow enough: ${range}`,
      'identity',
      { flags: { 'audit-trusted-range': [range] } },
      /^ok: 1 narrow range may set/,
    ],
  ),

  // projects: "Configured projects against projects holding runs"
  ['nothing stored', 'projects', { signals: signalsOf([]) }, /^skipped: no project holds a trace yet/],
  [
    'a configured project without runs',
    'projects',
    { config: { projects: { shop: {} } } },
    /^warning: project "shop" is configured and holds no trace -> /,
  ],
  [
    'a project that senders alone name',
    'projects',
    { signals: signalsOf([aProject({ project: 'typo\u001b' })]) },
    /^warning: 1 project named by senders alone: "typo\\u001b"; .* -> add them to the projects block/,
  ],
  [
    'activity inside the window',
    'projects',
    {},
    /^ok: 1 project with 1 trace; 1 active in the last 7 days: "default"$/,
  ],
  [
    'no activity inside the window',
    'projects',
    { signals: signalsOf([aProject({ lastSeen: NOW - 7n * DAY - 1n })]) },
    /^warning: no project has a trace of the last 7 days/,
  ],
  [
    'activity at the edge of the window',
    'projects',
    { signals: signalsOf([aProject({ lastSeen: NOW - 7n * DAY })]) },
    /^ok: 1 project with 1 trace; 1 active/,
  ],

  // retention: "How far back each project's data goes and whether anything will delete it"
  [
    'nothing deletes it',
    'retention',
    {},
    /^warning: "default" goes back to 2026-11-19, and nothing will ever delete it.*set --retention-days/,
  ],
  [
    'kept for a time',
    'retention',
    { flags: { 'retention-days': ['30'] } },
    /^ok: "default" goes back to 2026-11-19; kept for 30 days$/,
  ],
  [
    'A project named only by a sender has no window and is never trimmed',
    'retention',
    { flags: { 'retention-days': ['30'] }, signals: signalsOf([aProject({ project: 'x' })]) },
    /^warning: "x" goes back to .*only senders name this project, so not even --retention-days reaches it/,
  ],
  [
    'data older than its window',
    'retention',
    { flags: { 'retention-days': ['30'] }, signals: signalsOf([aProject({ firstSeen: NOW - 33n * DAY })]) },
    /^warning: .*which is 33 days, though it is kept for 30: no retention pass has come by/,
  ],
  [
    'data as old as its window and two days is not late',
    'retention',
    { flags: { 'retention-days': ['30'] }, signals: signalsOf([aProject({ firstSeen: NOW - 32n * DAY })]) },
    /^ok: .*kept for 30 days$/,
  ],

  // limits: "A per-project ceiling with no top-level ceiling, and a sampling fraction outside 0.0 to 1.0 in a project block, are reported"
  [
    'a per-project ceiling with no top-level ceiling',
    'limits',
    { config: { projects: { shop: { quota_per_minute: 5 } } } },
    /^warning: "shop" has a ceiling .*none at the top level.* -> set --quota-per-minute$/,
  ],
  [
    'both ceilings',
    'limits',
    { flags: { 'quota-per-minute': ['9'] }, config: { projects: { shop: { quota_per_minute: 5 } } } },
    /^ok: every project is held to 9 signals a minute; "shop" by a ceiling of their own$/,
  ],
  [
    'a sampling fraction outside 0.0 to 1.0 in a project block',
    'limits',
    { refusedSamples: [{ project: 'shop', sample: 1.5 }] },
    /^fault: project "shop" has the sampling fraction 1\.5, outside 0\.0 to 1\.0.* -> set projects\.shop\.sample/,
  ],
  [
    'a fraction of 0 keeps nothing',
    'limits',
    { flags: { sample: ['0'] } },
    /^warning: --sample is 0: no trace is kept/,
  ],
  [
    'fractions inside the bounds',
    'limits',
    { config: { projects: { a: { sample: 1 }, b: { sample: 0.25 } } } },
    /^ok: --sample 1, projects\.a\.sample 1, projects\.b\.sample 0\.25$/,
  ],

  // forwarding
  ['no block', 'forwarding', {}, /^skipped: the config file has no forward block$/],
  [
    '--offline: forwarding check is reported skipped',
    'forwarding',
    { offline: true, config: { forward: { endpoint: 'https://otel.example.com/secret-path' } } },
    /^skipped: https:\/\/otel\.example\.com was not contacted \(--offline\)$/,
  ],

  // judge: "Judge block as configuration only"
  ['no judge', 'judge', {}, /^skipped: .*judged scoring is off$/],
  ...(
    [
      [
        'a judge as configured',
        'http://127.0.0.1:1/v1',
        {},
        /^ok: m at http:\/\/127\.0\.0\.1:1, without a key, asks 1 criterion; it was not called$/,
      ],
      [
        'a judge in the clear',
        'http://api.example.com',
        { api_key: 'canary' },
        /^warning: http:\/\/api\.example\.com is spoken to without encryption: .*and the key/,
      ],
      [
        'a judge at an address that is never called',
        'https://[fe80::1]/v1',
        {},
        /^warning: fe80::1 is a link-local, .* -> correct judge\.endpoint/,
      ],
      [
        'a judge slower than a request',
        'https://x.example.com',
        { timeout_seconds: 31 },
        /^warning: judge\.timeout_seconds is 31 and a request ends after 30/,
      ],
    ] as const
  ).map(
    ([name, endpoint, more, line]): Row => [
      name,
      'judge',
      { config: { judge: { endpoint, model: 'm', criteria: { polite: 'Is it?' }, ...more } } },
      line,
    ],
  ),

  // monitors: "Monitors and objectives and the signals they read"
  ['none', 'monitors', {}, /^skipped: the config file has no monitors and no objectives$/],
  [
    'a monitor with signals',
    'monitors',
    { config: { monitors: [monitor] } },
    /^ok: monitor "m" \(error_rate\) reads project "default"$/,
  ],
  [
    'a monitor whose reports go to an address that is never called',
    'monitors',
    { config: { monitors: [{ ...monitor, webhook: 'http://169.254.169.254/secret-path' }] } },
    /^warning: monitor "m" reports to 169\.254\.169\.254, a link-local, .* -> correct its webhook in the config file$/,
  ],
  [
    'a monitor that would not see that nothing arrives',
    'monitors',
    { config: { monitors: [{ ...monitor, watch: 'trace_count', compare: 'below' }] } },
    /^warning: monitor "m" \(trace_count\) does not see a window with fewer than its min_samples 20 runs, .* -> set its min_samples to 0/,
  ],
  [
    'a monitor that would',
    'monitors',
    { config: { monitors: [{ ...monitor, watch: 'trace_count', compare: 'below', min_samples: 0 }] } },
    /^ok: monitor "m" \(trace_count\) reads project "default"$/,
  ],
  [
    'a disabled monitor',
    'monitors',
    { config: { monitors: [{ ...monitor, enabled: false }] } },
    /^skipped: monitor "m" .* is disabled$/,
  ],
  [
    'a monitor of a project without runs',
    'monitors',
    { config: { monitors: [{ ...monitor, project: 'shop' }] } },
    /^warning: monitor "m" .* reads project "shop", which holds no trace: it will never report/,
  ],
  [
    'a monitor of a project that fell silent',
    'monitors',
    { config: { monitors: [monitor] }, signals: signalsOf([aProject({ lastSeen: NOW - 8n * DAY })]) },
    /^warning: monitor "m" .* whose last trace is of 2026-11-12/,
  ],
  [
    'a monitor of scores that nobody writes',
    'monitors',
    { config: { monitors: [{ ...monitor, watch: 'score_mean', scorer_id: 'polite' }] } },
    /^warning: monitor "m" \(score_mean\) reads scores of "polite" .* none of the last 7 days/,
  ],
  [
    'a monitor of durable runs that are off',
    'monitors',
    { flags: { 'runs-data': ['off'] }, config: { monitors: [{ ...monitor, watch: 'run_repetition' }] } },
    /^warning: monitor "m" \(run_repetition\) reads durable runs, which are off/,
  ],
  [
    'an objective whose reports go to one',
    'monitors',
    { config: { slos: [{ id: 's', objective: 0.99, window_days: 1, webhook: 'http://[ff02::1]/' }] } },
    /^warning: objective "s" reports to ff02::1, .* -> correct its webhook/,
  ],
  [
    'an objective of a project without runs',
    'monitors',
    { config: { slos: [{ id: 's', objective: 0.99, window_days: 1, project: 'shop' }] } },
    /^warning: objective "s" \(0\.99\) reads project "shop", which holds no trace/,
  ],

  // clock: "Runs at both ends of each project's history against this machine's clock"
  ['clocks agree', 'clock', {}, /^ok: traces at both ends of 1 project agree with this machine's clock$/],
  [
    'the newest trace starts in the future',
    'clock',
    { signals: signalsOf([aProject()], [aSpan({ startTime: NOW + 3600n * SECOND })]) },
    /^warning: the newest trace of "default" starts at 2026-11-20T10:00:00Z, 60 minutes after this machine's time/,
  ],
  [
    'five minutes are within tolerance',
    'clock',
    { signals: signalsOf([aProject()], [aSpan({ startTime: NOW + 300n * SECOND, receivedAt: NOW })]) },
    /^ok: traces at both ends/,
  ],
  [
    'this machine stored spans at a time that has not come: its clock went back',
    'clock',
    { signals: signalsOf([aProject()], [aSpan({ receivedAt: NOW + DAY })]) },
    /^fault: "default" holds a span received at 2026-11-21T09:00:00Z.* -> set the clock of this machine/,
  ],
  [
    'a clock that was set while the service ran',
    'clock',
    { clockJumps: { count: 2, last: [{ from: Date.UTC(2026, 10, 19), to: Date.UTC(2036, 10, 19), byMs: 1 }] } },
    /^warning: the clock .* was set by more than five seconds 2 times .* from 2026-11-19T00:00:00Z to 2036-11-19T00:00:00Z -> /,
  ],
  [
    'a durable run of a time that has not come',
    'clock',
    { runs: runsOf({ newestChange: async () => Date.UTC(2026, 10, 21, 9) }) },
    /^fault: a durable run changed at 2026-11-21T09:00:00Z, 24 hours after this machine's time .* -> set the clock/,
  ],
  [
    'a span that started after it was received',
    'clock',
    { signals: signalsOf([aProject()], [aSpan({ startTime: NOW - DAY, receivedAt: NOW - 2n * DAY })]) },
    /^warning: "default" holds a span that started 24 hours after it was received/,
  ],
  [
    'the oldest trace is before anything that sends spans',
    'clock',
    { signals: signalsOf([aProject()], [aSpan(), aSpan({ startTime: 1_700_000_000n })]) },
    /^warning: the oldest trace of "default" is of 1970-01-01T/,
  ],
  ['no traces', 'clock', { signals: signalsOf([]) }, /^skipped: no trace is stored to compare this clock with$/],

  // pricing: "Recent model spans against the price book; names unpriced models"
  [
    'an unpriced model is named',
    'pricing',
    {
      signals: signalsOf(
        [aProject()],
        [aSpan({ model: 'own-7b', usage: { inputTokens: 1 } }), aSpan({ model: 'own-7b', usage: { inputTokens: 1 } })],
      ),
    },
    /^warning: the price book \(builtin, as of \d{4}-\d\d-\d\d\) does not hold "own-7b": 2 calls without a cost -> send the cost/,
  ],
  [
    'an unpriced embedding model is named',
    'pricing',
    {
      signals: signalsOf(
        [aProject()],
        [aSpan({ kind: 'rag_embedding', model: 'own-embed', usage: { totalTokens: 1 } })],
      ),
    },
    /^warning: .* does not hold "own-embed"/,
  ],
  [
    'a model that the book holds',
    'pricing',
    { signals: signalsOf([aProject()], [aSpan({ model: 'gpt-4o-mini', usage: { inputTokens: 1 } })]) },
    /^ok: the price book holds every model of 1 model call of the last 7 days$/,
  ],
  [
    'a span that brought its cost',
    'pricing',
    {
      signals: signalsOf(
        [aProject()],
        [
          aSpan({
            model: 'own-7b',
            usage: { inputTokens: 1 },
            cost: { totalCost: 1, currency: 'USD', isEstimated: false },
          }),
        ],
      ),
    },
    /^ok: the price book holds every model/,
  ],
  [
    'model spans before the window are not read',
    'pricing',
    {
      signals: signalsOf(
        [aProject()],
        [aSpan({ model: 'own-7b', usage: { inputTokens: 1 }, startTime: NOW - 8n * DAY })],
      ),
    },
    /^skipped: no model call of the last 7 days/,
  ],
];

describe('findings', () => {
  it.each(rows)('%s (%s)', async (_name, group, given, line) => {
    const lines = await said(group, given);
    expect(
      lines.filter((one) => line.test(one)),
      lines.join('\n'),
    ).toHaveLength(1);
  });

  it('a deployment on loopback with retention, keys and a priced model has nothing but ok and skipped', async () => {
    const flags = { ...keyed, 'retention-days': ['30'], 'write-key': [key('write')] };
    const { groups, summary } = await examine(aDeployment({ flags }), true);
    const wrong = groups.flatMap(({ findings }) =>
      findings.filter(({ level }) => level === 'fault' || level === 'warning'),
    );
    expect(wrong).toEqual([]);
    expect(summary).toMatchObject({ warning: 0, fault: 0 });
  });

  it('a price book older than 180 days is a warning, one of 180 days is not', async () => {
    const asOf = BigInt(Date.parse(builtinPriceBook.asOf)) * 1_000_000n;
    const signals = signalsOf([]);
    expect((await said('pricing', { signals, now: asOf + 181n * DAY }))[0]).toMatch(
      /^warning: the price book \(builtin\) is as of \d{4}-\d\d-\d\d, 181 days ago: .* -> upgrade svc/,
    );
    expect((await said('pricing', { signals, now: asOf + 180n * DAY }))[0]).toMatch(/^skipped: no model call/);
  });

  it('window-days widens what activity, clock and pricing read', async () => {
    const spans = [aSpan({ model: 'own-7b', usage: { inputTokens: 1 }, startTime: NOW - 20n * DAY })];
    const signals = signalsOf([aProject({ lastSeen: NOW - 20n * DAY })], spans);
    expect((await said('pricing', { signals, windowDays: 30 }))[0]).toMatch(/^warning: .*"own-7b"/);
    expect((await said('projects', { signals, windowDays: 30 }))[0]).toMatch(/^ok: .*1 active in the last 30 days/);
    expect((await said('projects', { signals, windowDays: 19 }))[0]).toMatch(/^warning: no project/);
  });

  it('of more unpriced models than are shown, the most used come first and the rest is counted', async () => {
    const spans = Array.from({ length: 25 }, (_, n) => aSpan({ model: `own-${n}`, usage: { inputTokens: 1 } }));
    const lines = await said('pricing', {
      signals: signalsOf([aProject()], [...spans, aSpan({ model: 'own-24', usage: { inputTokens: 1 } })]),
    });
    expect(lines[0]).toContain('"own-24": 2 calls');
    expect(lines.at(-2)).toMatch(/^warning: 5 further models without a price/);
  });
});

it('a monitor of scores that are there reads them, and asks for no more than one of the window', async () => {
  const asked: unknown[] = [];
  const signals = {
    ...signalsOf([aProject()]),
    listScores: async (query: unknown) => {
      asked.push(query);
      return { items: [aScore()] };
    },
  };
  const config = { monitors: [{ ...monitor, watch: 'score_mean', scorer_id: 'polite' }] };
  expect(await said('monitors', { signals, config })).toEqual([
    'ok: monitor "m" (score_mean) reads scores of "polite" in project "default"',
  ]);
  expect(asked).toEqual([{ projects: ['default'], scorerId: 'polite', from: NOW - 7n * DAY, limit: 1 }]);
});

describe('forwarding is asked', () => {
  const look = (offline: boolean) => ({
    ...aDeployment({
      offline,
      config: { forward: { endpoint: 'https://otel.example.com/secret', headers: { a: 'canary' } } },
    }),
    from: NOW,
    projects: async () => [],
  });
  it('"posts an OTLP batch with no spans": taken is ok, refused is a fault with its reason, without path or header', async () => {
    const taken = await examineForwarding(look(false), async () => ({ ok: true }));
    expect(taken).toEqual([{ level: 'ok', message: 'https://otel.example.com took an OTLP batch with no spans' }]);
    const [refused] = await examineForwarding(look(false), async () => ({ ok: false, reason: 'status 401' }));
    expect(refused).toMatchObject({ level: 'fault', message: expect.stringContaining('status 401') });
    expect(JSON.stringify(refused)).not.toMatch(/canary|secret/);
  });
  it('"--offline contacts nothing but storage": nobody is asked', async () => {
    const findings = await examineForwarding(look(true), async () => {
      throw new Error('somebody was contacted');
    });
    expect(findings[0]?.level).toBe('skipped');
  });
});

describe('the report', () => {
  it('"Twelve groups are evaluated in this order"', async () => {
    const { groups } = await examine(aDeployment(), true);
    expect(groups.map(({ group }) => group)).toEqual([
      ...['storage', 'runs', 'keys', 'identity', 'projects', 'retention'],
      ...['limits', 'forwarding', 'judge', 'monitors', 'clock', 'pricing'],
    ]);
  });

  it('"A check not run reports skipped, never ok": a store that could not be read', async () => {
    const deployment = { ...aDeployment(), signals: { findings: [], unread: 'the signal store could not be read' } };
    for (const group of ['projects', 'retention', 'clock', 'pricing'])
      expect(await said(group, deployment), group).toEqual(['skipped: the signal store could not be read']);
  });

  it('a store that fails half way is a fault of the group that met it, and the others go on', async () => {
    const signals = {
      ...signalsOf([aProject()]),
      listSpans: async () => {
        throw new StoreUnavailable('signal store x: an input/output error (SQLITE_IOERR)');
      },
    };
    expect((await said('pricing', { signals }))[0]).toMatch(/^fault: could not be checked: .*SQLITE_IOERR/);
    expect((await said('retention', { signals }))[0]).toMatch(/^warning: "default" goes back/);
  });

  it('"the summary counts skipped checks separately and says they proved nothing"; one line a finding', () => {
    const findings: Finding[] = [
      { level: 'ok', message: 'fine' },
      { level: 'warning', message: 'bad', mend: 'set --x' },
      { level: 'fault', message: 'worse', mend: 'set --y' },
      { level: 'skipped', message: 'not looked at' },
    ];
    const report = { checked_at: '', version: '', window_days: 7, offline: true, read_only: true };
    const text = reportText({
      ...report,
      groups: [{ group: 'keys', findings }],
      summary: { ok: 1, skipped: 1, warning: 1, fault: 1 },
    });
    expect(text.split('\n')).toEqual([
      'ok      keys       fine',
      'warning keys       bad -> set --x',
      'FAULT   keys       worse -> set --y',
      'skipped keys       not looked at',
      '',
      '1 ok, 1 warning, 1 fault; 1 check skipped: not run, it proved nothing',
      '',
    ]);
  });
});
