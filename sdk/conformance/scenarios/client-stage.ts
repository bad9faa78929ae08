/** What the scenarios of clients share. */
import assert from 'node:assert/strict';
import type { Answer, Fixture } from '../kit/fixture.ts';
import { area, type World } from '../kit/scenario.ts';
import type { Service, StoredRun } from '../opposite/daemon.ts';
import { waits } from './definitions.ts';

export const client = area('client');
export const QUICK_RETRY = { attempts: 3, base_ms: 10, max_ms: 50 };

export const fixtureAt = async (
  world: World,
  service: { readonly url: string },
  more: object = {},
): Promise<Fixture> => {
  const fixture = await world.fixture({ SVC_ENDPOINT: service.url });
  await fixture.ask('configure', { retry: QUICK_RETRY, ...more });
  return fixture;
};

export const okOf = (answer: Answer): unknown => {
  if (answer.error !== undefined) assert.fail(`it answered ${JSON.stringify(answer.error)}`);
  return answer.ok;
};

/** A run that waits for its first event. */
export const waitingRun = async (
  world: World,
  service: Service,
  count = 1,
): Promise<{ run: StoredRun; key: string }> => {
  const id = world.unique('waits');
  const key = world.unique('key');
  await service.api.store(waits(id, count));
  return { run: await service.api.start(id, { key }), key };
};

export const signalRun = (service: Service, runId: string, event: string, payload: object = {}): Promise<unknown> =>
  service.api.post(`/v1/api/runs/${runId}/signal`, { event, payload });
