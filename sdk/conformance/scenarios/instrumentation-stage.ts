/** What the scenarios of instrumentation share. */
import type { Fixture } from '../kit/fixture.ts';
import { area, type World } from '../kit/scenario.ts';

export const instrumentation = area('instrumentation');

export type SpanResult = {
  readonly trace_id: string;
  readonly span_id: string;
  readonly traceparent: string;
  readonly inside: readonly SpanResult[];
  readonly raised?: string;
};

export type Counters = {
  readonly sent: number;
  readonly dropped: number;
  readonly refused: number;
  readonly failed: number;
  readonly invalid?: number;
};

/** Batches go out soon, and tries come soon after one another. */
export const QUICK = { delay_ms: 20, retry: { attempts: 5, base_ms: 20, max_ms: 200 } };

export const quickFixture = async (
  world: World,
  service: { readonly url: string },
  more: object = {},
): Promise<Fixture> => {
  const fixture = await world.fixture({ SVC_ENDPOINT: service.url });
  await fixture.ask('configure', { ...QUICK, ...more });
  return fixture;
};
export const span = (fixture: Fixture, input: object): Promise<SpanResult> => fixture.ask<SpanResult>('span', input);
export const flush = (fixture: Fixture): Promise<{ flushed: boolean }> => fixture.ask('flush', { timeout_ms: 8000 });
export const counters = (fixture: Fixture): Promise<Counters> => fixture.ask('counters');
