import { afterEach, describe, expect, it } from 'vitest';
import { runsSurface } from '../../../src/http/routes/runs-surface.ts';
import type { RunsDeps } from '../../../src/http/routes/runs-deps.ts';
import type { Scope } from '../../../src/model/scope.ts';
import { scopes } from '../../../src/model/scope.ts';
import type { Answer } from '../listening-app.ts';
import { aFlow, aTask, type RunsHttp, startRunsService } from './service.ts';

const keysOf = (project: string) => Object.fromEntries(scopes.map((scope) => [scope, [`${project}-${scope}`]]));
const keys = {
  topLevel: keysOf('top'),
  projects: { own: keysOf('own'), other: keysOf('other') },
};
const surface = runsSurface({ requestTimeoutSeconds: 30 } as RunsDeps, true);
const scopeOf = new Map(surface.map(({ operationId, scope }) => [operationId, scope]));

const HOUR = 3_600_000;
/** What one project has of everything. */
type Things = { readonly run: string; readonly lease: string; readonly bulk: string; readonly limit: string };
const NOTHING: Things = {
  run: crypto.randomUUID(),
  lease: crypto.randomUUID(),
  bulk: crypto.randomUUID(),
  limit: 'none',
};

/** Of each id the project, the other one and the service hold a definition with other content, or some of them. */
const ours = [aFlow('shared', [aTask('ours')]), aFlow('common', [aTask('ours')])];
const own = [
  aFlow('shared', [aTask('own')], { version: 7 }),
  aFlow('secret', [aTask('own')], { concurrency: { key: 'secret', limit: 9 } }),
];
const theirs = [aFlow('shared', [aTask('theirs')])];

const services: RunsHttp[] = [];
afterEach(async () => {
  for (const service of services.splice(0)) await service.close();
});

/** A service in which `other` and the service have things of their own, and `own` has some of each kind, or nothing. */
const aWorld = async (hasThings: boolean): Promise<{ service: RunsHttp; things: Things }> => {
  const service = await startRunsService({ keys });
  services.push(service);
  await service.must(service.register('of-all', ours, {}, { key: 'top-worker' }));
  await service.must(service.register('of-other', theirs, {}, { key: 'other-worker' }));
  if (!hasThings) return { service, things: NOTHING };
  const execute = { key: 'own-execute' };
  await service.must(service.register('of-own', own, { name: 'secret' }, { key: 'own-worker' }));
  // Limited to the project, with definitions of the service.
  await service.must(service.register('for-own', ours, { project: 'own' }, { key: 'top-worker' }));
  await service.start('secret', { secret: 1 }, { correlation: { user_id: 'u' } }, execute);
  const lease = await service.take('of-own', { key: 'own-worker' });
  await service.start('secret', {}, { idempotency_key: 'k', correlation: { user_id: 'u' } }, execute);
  await service.start('common', {}, {}, execute);
  await service.must(
    service.post('/events', { event: 'e', key: 'secret', payload: {}, event_id: 'taken' }, { key: 'own-execute' }),
  );
  await service.must(service.post('/schedules', { id: 'nightly', definition_id: 'secret', every_ms: HOUR }, execute));
  // A worker of all projects serves this one too.
  await service.take('of-all', { key: 'top-worker' });
  const cancelOne = { action: 'cancel', filter: { definition_id: 'common', status: 'queued' } };
  await service.start('common', {}, {}, execute);
  const { bulk_id: bulk } = (await service.post('/runs/bulk', cancelOne, execute)).body;
  await service.runs.tick();
  const { limits } = await service.must(service.get('/limits', { key: 'own-read' }));
  return { service, things: { run: lease.run_id, lease: lease.lease_id, bulk, limit: limits[0].limit_id } };
};

type Call = (service: RunsHttp, things: Things, key: string) => Promise<Answer>;
const get =
  (path: (things: Things) => string): Call =>
  (service, things, key) =>
    service.get(path(things), { key });
const put =
  (path: (things: Things) => string, body: object): Call =>
  (service, things, key) =>
    service.put(path(things), body, { key });
const post =
  (path: (things: Things) => string, body: object): Call =>
  (service, things, key) =>
    service.post(path(things), body, { key });

/** One call or more of each route that would come across what the project has. */
const calls: readonly (readonly [operation: string, what: string, call: Call])[] = [
  ['startRun', 'of a definition of the project', post(() => '/runs', { definition_id: 'secret', input: 1 })],
  [
    'startRun',
    'of a version that only the project has',
    post(() => '/runs', { definition_id: 'shared', definition_version: 7, input: 1 }),
  ],
  [
    'startRun',
    'under an idempotency key of the project',
    post(() => '/runs', { definition_id: 'shared', input: 1, idempotency_key: 'k' }),
  ],
  ['startRun', 'of a definition of the service', post(() => '/runs', { definition_id: 'common', input: 1 })],
  ['listRuns', '', get(() => '/runs')],
  ['listRuns', 'by definition', get(() => '/runs?definition_id=secret')],
  [
    'publishEvent',
    'with an id that the project used',
    post(() => '/events', { event: 'e', key: 'secret', payload: {}, event_id: 'taken' }),
  ],
  ['listParkedEvents', '', get(() => '/events')],
  [
    'registerWorker',
    'with the ids and versions of the project',
    post(() => '/workers/register', {
      worker_id: 'new',
      definitions: [aFlow('secret', [aTask('new')]), aFlow('shared', [aTask('new')], { version: 7 })],
    }),
  ],
  ['batchSteps', 'claiming for all', post(() => '/steps/batch', { worker_id: 'new', claim: { max: 9 } })],
  ['batchSteps', 'claiming', post(() => '/steps/batch', { worker_id: 'of-other', claim: { max: 9 } })],
  ['claimSteps', 'for all', post(() => '/steps/claim', { worker_id: 'new', max: 9, wait_ms: 0 })],
  ['claimSteps', 'of the own worker', post(() => '/steps/claim', { worker_id: 'of-other', max: 9, wait_ms: 0 })],
  ['listWorkers', '', get(() => '/workers')],
  ['listWorkers', 'by project', get(() => '/workers?project=other')],
  ['listLeases', '', get(() => '/leases')],
  ['listLimits', '', get(() => '/limits')],
  // Its id is a digest of names that may be guessed.
  [
    'getLimit',
    'of the project',
    async (service, { limit }, key) => {
      const answer = await service.get(`/limits/${limit}`, { key });
      return { ...answer, text: answer.text.replaceAll(limit, 'ID') };
    },
  ],
  ['countWaitingRuns', '', get(() => '/runs/waiting')],
  ['listStalledRuns', '', get(() => '/runs/stalled')],
  ['listDefinitions', '', get(() => '/definitions')],
  ['listDefinitions', 'by project', get(() => '/definitions?project=other')],
  [
    'storeDefinitions',
    'with the id and version of the project',
    post(() => '/definitions', { definitions: [aFlow('secret', [aTask('newer')], { version: 2 })] }),
  ],
  [
    'storeDefinitions',
    'as a check of the id and version of the project',
    post(() => '/definitions?check=true', { definitions: [aFlow('shared', [aTask('x')], { version: 8 })] }),
  ],
  ['getDefinition', 'of the project', get(() => '/definitions/secret')],
  ['getDefinition', 'that each has', get(() => '/definitions/shared')],
  ['getDefinition', 'of the service, with its runs and workers', get(() => '/definitions/common')],
  ['pauseDefinition', 'of the project', post(() => '/definitions/secret/pause', {})],
  ['resumeDefinition', 'of the project', post(() => '/definitions/secret/resume', {})],
  ['getDefinitionVersion', 'of the project', get(() => '/definitions/secret/versions/1')],
  ['getDefinitionVersion', 'that each has', get(() => '/definitions/shared/versions/1')],
  ['listActors', 'runs', get(() => '/actors?type=run')],
  ['listActors', 'leases', get(() => '/actors?type=lease')],
  ['listMachines', '', get(() => '/machines?limit=1000')],
  ['listMachines', 'by project', get(() => '/machines?limit=1000&project=other')],
  ['getMachine', 'of the project', get(() => '/machines/run:secret@1')],
  ['getMachine', 'drawn', get(() => '/machines/run:secret@1?format=mermaid')],
  ['getMachine', 'that each has', get(() => '/machines/run:shared@1')],
  ['startBulk', '', post(() => '/runs/bulk', { action: 'cancel', filter: { definition_id: 'secret' } })],
  [
    'createSchedule',
    'of a definition of the project',
    post(() => '/schedules', { id: 'a', definition_id: 'secret', every_ms: HOUR }),
  ],
  ['listSchedules', '', get(() => '/schedules')],
  ...(
    [
      ['getSchedule', get(() => '/schedules/nightly')],
      ['changeSchedule', put(() => '/schedules/nightly', { definition_id: 'common', every_ms: HOUR })],
      ['pauseSchedule', post(() => '/schedules/nightly/pause', {})],
      ['resumeSchedule', post(() => '/schedules/nightly/resume', {})],
      ['triggerSchedule', post(() => '/schedules/nightly/trigger', {})],
      ['deleteSchedule', (service, _, key) => service.del('/schedules/nightly', { key })],
    ] as readonly (readonly [string, Call])[]
  ).flatMap(([operation, call]) => [
    [operation, 'of an id that the project has', call] as const,
    ...(operation === 'deleteSchedule'
      ? [
          [
            'createSchedule',
            'of that id',
            post(() => '/schedules', { id: 'nightly', definition_id: 'common', every_ms: HOUR }),
          ] as const,
        ]
      : []),
  ]),
  ['getSchedule', 'of its own', get(() => '/schedules/nightly')],
  ['triggerSchedule', 'of its own', post(() => '/schedules/nightly/trigger', {})],
  ['listActors', 'schedules', get(() => '/actors?type=schedule')],
  ['eraseSubject', '', (service, _, key) => service.del('/subjects/u', { key })],
];

const REPORT = { worker_id: 'of-own' };
/** The answer of the only item of a batch, as if it had come by its own call. */
const asItsItem = async (batch: Promise<Answer>): Promise<Answer> => {
  const { status, body, ...rest } = await batch;
  const item = status === 200 ? (body.heartbeats[0] ?? body.completes[0]) : { status, body };
  return { ...rest, ...item, text: JSON.stringify(item.body) };
};
/** Calls that name a thing by an id which nobody can guess: 403, where a thing that is not there is 404. */
const namedThings: readonly (readonly [operation: string, call: Call])[] = [
  ['getRun', get(({ run }) => `/runs/${run}`)],
  ['getRun', get(({ run }) => `/runs/${run}?wait_ms=10`)],
  ['listRunEvents', get(({ run }) => `/runs/${run}/events`)],
  ['listStalledRuns', get(({ run }) => `/runs/stalled?run_id=${run}`)],
  ['getStepCause', get(({ run }) => `/runs/${run}/steps/own/cause`)],
  ['restartRun', post(({ run }) => `/runs/${run}/restart`, {})],
  ['cancelRun', post(({ run }) => `/runs/${run}/cancel`, {})],
  ['pauseRun', post(({ run }) => `/runs/${run}/pause`, {})],
  ['resumeRun', post(({ run }) => `/runs/${run}/resume`, {})],
  ['signalRun', post(({ run }) => `/runs/${run}/signal`, { event: 'e', payload: {} })],
  [
    'claimSteps',
    (service, { run }, key) =>
      service.post('/steps/claim', { worker_id: 'of-other', max: 1, wait_ms: 0, run_id: run }, { key }),
  ],
  ['startStep', post(({ lease }) => `/steps/${lease}/started`, REPORT)],
  [
    'batchSteps',
    (service, { lease }, key) =>
      asItsItem(service.post('/steps/batch', { ...REPORT, heartbeats: [{ lease_id: lease, details: 'x' }] }, { key })),
  ],
  [
    'batchSteps',
    (service, { lease }, key) =>
      asItsItem(service.post('/steps/batch', { ...REPORT, completes: [{ lease_id: lease, output: 'x' }] }, { key })),
  ],
  ['beatStep', post(({ lease }) => `/steps/${lease}/heartbeat`, REPORT)],
  ['completeStep', post(({ lease }) => `/steps/${lease}/complete`, REPORT)],
  ['failStep', post(({ lease }) => `/steps/${lease}/fail`, { ...REPORT, error: { class: 'fatal', message: 'm' } })],
  ['getBulk', get(({ bulk }) => `/runs/bulk/${bulk}`)],
  ['stopBulk', (service, { bulk }, key) => service.del(`/runs/bulk/${bulk}`, { key })],
  ['getActor', get(({ bulk }) => `/actors/bulk/${bulk}`)],
  ['getActor', get(({ run }) => `/actors/run/${run}`)],
  ['getActor', get(({ run }) => `/actors/run/${run}?at_seq=0`)],
  ['getActor', get(({ lease }) => `/actors/lease/${lease}`)],
];
const aSchedule = { definition_id: 'secret', every_ms: HOUR };

/** Calls that name the project: its name is the caller's word, so 403 tells nothing. */
const namedProject: readonly (readonly [operation: string, call: Call])[] = [
  ['startRun', post(() => '/runs', { definition_id: 'secret', input: 1, project: 'own' })],
  ['publishEvent', post(() => '/events', { event: 'e', key: '', payload: {}, project: 'own' })],
  ['startBulk', post(() => '/runs/bulk', { action: 'cancel', filter: { project: 'own' } })],
  ['createSchedule', post(() => '/schedules', { id: 'nightly', ...aSchedule, project: 'own' })],
  ['changeSchedule', put(() => '/schedules/nightly?project=own', aSchedule)],
  ['pauseSchedule', post(() => '/schedules/nightly/pause?project=own', {})],
  ['resumeSchedule', post(() => '/schedules/nightly/resume?project=own', {})],
  ['triggerSchedule', post(() => '/schedules/nightly/trigger?project=own', {})],
  ['deleteSchedule', (service, _, key) => service.del('/schedules/nightly?project=own', { key })],
  ['registerWorker', post(() => '/workers/register', { worker_id: 'x', definitions: [], project: 'own' })],
  ['storeDefinitions', post(() => '/definitions', { definitions: own, project: 'own' })],
  ['storeDefinitions', post(() => '/definitions?check=true', { definitions: own, project: 'own' })],
  ...(
    [
      ['listRuns', '/runs'],
      ['listSchedules', '/schedules'],
      ['getSchedule', '/schedules/nightly'],
      ['listParkedEvents', '/events'],
      ['listWorkers', '/workers'],
      ['listLeases', '/leases'],
      ['listLimits', '/limits'],
      ['countWaitingRuns', '/runs/waiting'],
      ['listStalledRuns', '/runs/stalled'],
      ['listDefinitions', '/definitions'],
      ['getDefinition', '/definitions/secret'],
      ['getDefinitionVersion', '/definitions/secret/versions/1'],
      ['listActors', '/actors'],
      ['listMachines', '/machines'],
      ['getMachine', '/machines/run:secret@1'],
    ] as const
  ).map(([operation, path]) => [operation, get(() => `${path}?project=own`)] as const),
];

const keyOf = (project: string, operation: string): string => `${project}-${scopeOf.get(operation)}`;
/** An answer without what differs between any two services: ids and times. */
const comparable = ({ status, text }: Answer): string =>
  `${status} ${text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replaceAll(/"(?:trace_id|span_id)":"[0-9a-f]+"/g, '"hex"')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')}`;

/** All that the project sees of itself. */
const viewOf = async (service: RunsHttp, { run, lease }: Things): Promise<unknown[]> => {
  const reads: readonly (readonly [Scope, string])[] = [
    ['read', '/runs'],
    ['read', `/runs/${run}`],
    ['read', `/runs/${run}/events`],
    ['read', '/leases'],
    ['read', '/limits'],
    ['read', '/schedules'],
    ['read', '/schedules/nightly'],
    ['read', '/definitions'],
    ['read', '/definitions/secret'],
    ['read', '/definitions/shared'],
    ['read', '/definitions/common'],
    ['read', '/definitions/secret/versions/1'],
    ['read', '/workers'],
    ['read', '/actors?type=run'],
    ['read', `/actors/lease/${lease}`],
    ['read', '/machines?limit=1000'],
    ['read', '/machines/run:secret@1'],
    ['execute', '/events'],
  ];
  const seen: unknown[] = [];
  for (const [scope, path] of reads) seen.push([path, await service.must(service.get(path, { key: `own-${scope}` }))]);
  return seen;
};

describe('one project and another', () => {
  it('the tables name every route of durable runs', () => {
    const named = new Set<string | undefined>(
      [...calls, ...namedThings, ...namedProject].map(([operation]) => operation),
    );
    expect(surface.map(({ operationId }) => operationId).filter((operation) => !named.has(operation))).toEqual([]);
  });

  it('a key of another project gets every answer that it would get if the project had nothing, and changes nothing of it', async () => {
    const full = await aWorld(true);
    const empty = await aWorld(false);
    const before = await viewOf(full.service, full.things);
    for (const [operation, what, call] of calls) {
      const key = keyOf('other', operation);
      const answer = comparable(await call(full.service, full.things, key));
      expect([operation, what, answer]).toEqual([
        operation,
        what,
        comparable(await call(empty.service, empty.things, key)),
      ]);
      expect(answer).not.toMatch(/^(409|5\d\d) /);
    }
    expect(await viewOf(full.service, full.things)).toEqual(before);
  });

  it('a thing that its id names is refused with 403, which does not say whose it is', async () => {
    const { service, things } = await aWorld(true);
    const before = await viewOf(service, things);
    for (const [operation, call] of namedThings) {
      const key = keyOf('other', operation);
      const refused = await call(service, things, key);
      expect([operation, refused.status, refused.body.code]).toEqual([operation, 403, 'forbidden']);
      expect(refused.text).not.toMatch(/\bown\b/);
      expect([operation, (await call(service, NOTHING, key)).status]).toEqual([operation, 404]);
    }
    expect(await viewOf(service, things)).toEqual(before);
  });

  it('the project itself is refused with 403, whatever it has', async () => {
    const full = await aWorld(true);
    const empty = await aWorld(false);
    for (const [operation, call] of namedProject) {
      const key = keyOf('other', operation);
      const answer = await call(full.service, full.things, key);
      expect([operation, answer.status, answer.body.code, answer.body.field ?? 'project']).toEqual([
        operation,
        403,
        'forbidden',
        'project',
      ]);
      expect(comparable(answer)).toBe(comparable(await call(empty.service, empty.things, key)));
    }
  });

  it('the own key, and a top-level key that names the project, see all of it', async () => {
    const { service, things } = await aWorld(true);
    const seen = async (path: string, key: string) => JSON.stringify(await service.must(service.get(path, { key })));
    for (const [path, sign] of [
      ['/runs', things.run],
      ['/leases', things.lease],
      ['/schedules', '"id":"nightly","project":"own"'],
      ['/schedules/nightly', '"definition_id":"secret"'],
      ['/actors', things.run],
      ['/definitions', '"id":"secret"'],
      ['/definitions/secret', '"open_runs":2,"workers":1'],
      ['/definitions/secret/versions/1', '"project":"own"'],
      ['/workers', '"worker_id":"for-own"'],
      ['/workers', '"worker_id":"of-all"'],
      ['/machines?limit=1000', 'run:secret@1'],
      ['/machines/run:secret@1', '"states"'],
    ] as const) {
      expect([path, await seen(path, 'own-read')]).toEqual([path, expect.stringContaining(sign)]);
      const named = `${path}${path.includes('?') ? '&' : '?'}project=own`;
      for (const key of ['own-read', 'top-read'])
        expect([path, await seen(named, key)]).toEqual([path, expect.stringContaining(sign)]);
    }
    expect(await seen('/events', 'own-execute')).toContain('"key":"secret"');
  });

  it('lists without `project` answer for all that the key reaches, with it for the project and the service', async () => {
    const { service } = await aWorld(true);
    const listed = async (path: string, key: string) => {
      const answer = await service.must(service.get(path, { key }));
      const rows = Object.values(answer)[0] as readonly Record<string, string>[];
      // The service's own machines come first, and are of nobody.
      return rows
        .filter((row) => (path.includes('/machines') ? row['name']?.startsWith('run:') === true : true))
        .map(({ id, name = '', worker_id: worker, project = '' }) =>
          worker === undefined ? `${id ?? name.replace(/^run:(.*)@\d+$/, '$1')} ${project}` : worker,
        );
    };
    const definitions = {
      all: ['common ', 'secret own', 'shared ', 'shared other', 'shared own'],
      own: ['common ', 'secret own', 'shared ', 'shared own'],
      other: ['common ', 'shared ', 'shared other'],
      nobody: ['common ', 'shared '],
    };
    const workers = {
      all: ['for-own', 'of-all', 'of-other', 'of-own'],
      own: ['for-own', 'of-all', 'of-own'],
      other: ['of-all', 'of-other'],
      nobody: ['of-all'],
    };
    for (const [path, expected] of [
      ['/definitions', definitions],
      ['/machines', definitions],
      ['/workers', workers],
    ] as const) {
      const more = path === '/machines' ? '?limit=1000&' : '?';
      expect(await listed(`${path}${more}`, 'top-read')).toEqual(expected.all);
      expect(await listed(`${path}${more}project=*`, 'top-read')).toEqual(expected.all);
      expect(await listed(`${path}${more}project=own`, 'top-read')).toEqual(expected.own);
      expect(await listed(`${path}${more}project=nobody`, 'top-read')).toEqual(expected.nobody);
      expect(await listed(`${path}${more}`, 'own-read')).toEqual(expected.own);
      expect(await listed(`${path}${more}`, 'other-read')).toEqual(expected.other);
      expect(await listed(`${path}${more}project=other`, 'other-read')).toEqual(expected.other);
    }
  });

  it('pages of definitions and machines go on behind the owner, where several have one id', async () => {
    const { service } = await aWorld(true);
    for (const [list, of] of [
      ['definitions', ({ id, project = '' }: Record<string, string>) => [`${id} ${project}`]],
      [
        'machines',
        ({ name = '', project = '' }: Record<string, string>) =>
          name.startsWith('run:') ? [`${name} ${project}`] : [],
      ],
    ] as const) {
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await service.must(
          service.get(`/${list}?limit=1${cursor === undefined ? '' : `&cursor=${cursor}`}`, { key: 'top-read' }),
        );
        seen.push(...page[list].flatMap(of));
        cursor = page.next_cursor;
      } while (cursor !== undefined);
      expect(new Set(seen).size).toBe(5);
      expect(seen).toHaveLength(5);
    }
  });
});
