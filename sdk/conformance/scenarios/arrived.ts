/** What reached the scripted service. */
import { until } from '../kit/judging.ts';
import type { Call, FakeService } from '../opposite/scripted.ts';

export type Json = { readonly [member: string]: unknown };
export type Signals = 'spans' | 'logs' | 'metrics' | 'scores' | 'feedback' | 'aspect_notes';

export type SentSpan = Json & {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id?: string;
  readonly name: string;
  readonly start_time: string;
  readonly end_time: string;
  readonly correlation?: Json;
};

const inCall = (call: Call, signals: Signals): readonly Json[] => (call.body[signals] ?? []) as readonly Json[];

/** All signals of a kind, in the order in which they came; resends count again. */
export const arrived = (service: FakeService, signals: Signals): readonly Json[] =>
  service.callsTo('ingest').flatMap((call) => inCall(call, signals));
export const spansOf = (service: FakeService): readonly SentSpan[] => arrived(service, 'spans') as readonly SentSpan[];

/** Waits for a span of that name. */
export const spanNamed = (service: FakeService, name: string): Promise<SentSpan> =>
  until(`span ${name}`, undefined, () => spansOf(service).find((span) => span.name === name));

export const signalWhere = (
  service: FakeService,
  signals: Signals,
  what: string,
  matches: (signal: Json) => boolean,
): Promise<Json> => until(`${signals}: ${what}`, undefined, () => arrived(service, signals).find(matches));
