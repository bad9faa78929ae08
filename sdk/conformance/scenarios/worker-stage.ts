/** What the scenarios of workers share. */
import type { Answer, Fixture, FixtureEvent } from '../kit/fixture.ts';
import { until } from '../kit/judging.ts';
import { area, type World } from '../kit/scenario.ts';
import type { JsonObject, Lease } from '../../typescript/src/generated/wire.ts';
import type { Service, StoredRun } from '../opposite/daemon.ts';
import { aLease, type Call, type FakeService } from '../opposite/scripted.ts';
import type { Json } from './arrived.ts';
import { oneTask } from './definitions.ts';

export const worker = area('worker');
export const REFUND = { id: 'refund', version: 1, steps: [{ id: 'pay', kind: 'task', input: '${input}' }] };
export type Running = { readonly fixture: Fixture; readonly ran: Promise<Answer> };

/** A worker at work. @param input of `worker.run` */
export const working = async (
  world: World,
  service: { readonly url: string },
  definitions: readonly object[],
  input: object = {},
): Promise<Running> => {
  const fixture = await world.fixture({ SVC_ENDPOINT: service.url });
  const { answer: ran } = fixture.send('worker.run', { definitions, grace_ms: 200, settle_ms: 500, ...input });
  return { fixture, ran };
};

export const onScripted = async (world: World, service: FakeService, input: object = {}): Promise<Running> => {
  const running = await working(world, service, [REFUND], input);
  await service.seen('register');
  return running;
};
export const scriptOf = (...script: readonly object[]): { script: readonly object[] } => ({ script });
export type Over = Omit<Partial<Lease>, 'input'> & { readonly input: object };

export const offer = (service: FakeService, { input, ...over }: Over): void =>
  service.offer(aLease({ ...over, input: input as JsonObject }));

/** A run of one task, on a worker of its own. */
export const servedRun = async (
  world: World,
  service: Service,
  input: unknown,
  step: object = {},
  run: object = {},
): Promise<Running & { readonly run: StoredRun; readonly id: string }> => {
  const id = world.unique('task');
  const definition = oneTask(id, step);
  await service.api.store(definition);
  const running = await working(world, service, [definition], run);
  return { ...running, id, run: await service.api.start(id, input) };
};

export const startedCount = (fixture: Fixture): number =>
  fixture.events.filter(({ event }) => event === 'body.started').length;
export const bodyStarted = (fixture: Fixture): Promise<FixtureEvent> => fixture.event('body.started');
/** A body may begin before the service knows of it. */
export const bodyDeclared = async (fixture: Fixture, service: Service): Promise<void> => {
  await bodyStarted(fixture);
  await until('its declaration', undefined, () =>
    service.proxy.stepCalls('started').some(({ status }) => status === 200),
  );
};
export const reportsOf = (service: FakeService): Call[] => [...service.callsTo('complete'), ...service.callsTo('fail')];
export const errorIn = (call: Call): Json => call.body['error'] as Json;
