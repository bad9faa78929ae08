/** A span of the native door, and what a test wants to know of it. */
export type CorpusSpan = {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id?: string;
  readonly name: string;
  readonly kind: 'agent_run' | 'model_generation' | 'tool_call';
  readonly status: 'ok' | 'error' | 'unset';
  readonly start_time: string;
  readonly end_time?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly entity_name?: string;
  readonly usage?: { readonly input_tokens: number; readonly output_tokens: number };
  readonly cost?: { readonly total_cost: number; readonly currency: string };
  readonly correlation: {
    readonly project: string;
    readonly environment?: string;
    readonly user_id?: string;
    readonly session_id?: string;
    readonly service_name?: string;
  };
};
export type CorpusTrace = { readonly traceId: string; readonly spans: readonly CorpusSpan[] };

/** Published prices, in dollars per million tokens, as they stand on the providers' pages; and under which id they stand. */
const published: Readonly<Record<string, { entry: string; input: number; output: number }>> = {
  'gpt-4o-mini': { entry: 'gpt-4o-mini', input: 0.15, output: 0.6 },
  'gpt-4o-mini-2024-07-18': { entry: 'gpt-4o-mini', input: 0.15, output: 0.6 },
  'openai/gpt-4.1': { entry: 'gpt-4.1', input: 2, output: 8 },
  'gpt-4.1-nano': { entry: 'gpt-4.1-nano', input: 0.1, output: 0.4 },
};

export const isInBook = ({ model }: CorpusSpan): boolean => model !== undefined && model in published;

/** What the span brought, or its tokens at the published price; `undefined` where neither is known. */
export const costOf = ({ cost, model, usage }: CorpusSpan): number | undefined => {
  if (cost !== undefined) return cost.total_cost;
  const price = model === undefined ? undefined : published[model];
  if (price === undefined || usage === undefined) return undefined;
  return (usage.input_tokens * price.input + usage.output_tokens * price.output) / 1e6;
};

export const tokensOf = ({ usage }: CorpusSpan): { input: number; output: number } => ({
  input: usage?.input_tokens ?? 0,
  output: usage?.output_tokens ?? 0,
});

/** The keys under which the span's groups stand. */
export const keysOf = ({ model, provider, entity_name: entity }: CorpusSpan) => ({
  model: model === undefined ? undefined : (published[model]?.entry ?? model),
  provider,
  entity_name: entity,
});

/** The generator mulberry32: the same numbers from the same seed. */
const createRandom = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

/**
 * Traces of the last hour, drawn from a seed: agents with model calls and tools; calls that fail, with and without usage; models under
 * several ids, of the price book and not; costs that spans brought; spans that still run.
 */
export const createCorpus = (options: {
  readonly seed: number;
  readonly traces: number;
  readonly now: number;
}): CorpusTrace[] => {
  const random = createRandom(options.seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const oneOf = <T>(...values: readonly T[]): T => values[below(values.length)] as T;
  const often = (share: number): boolean => random() < share;
  const iso = (ms: number): string => new Date(ms).toISOString();
  const hex = (n: number, digits: number): string => n.toString(16).padStart(digits, '0');

  let spanNumber = 0;
  const idOf = (): string => hex((spanNumber += 1), 16);

  const traceOf = (number: number): CorpusTrace => {
    const traceId = hex(number + 1, 32);
    const startedAt = options.now - 60_000 - below(3_500_000);
    const isOpen = often(0.05);
    const environment = oneOf('prod', 'staging', undefined);
    const user = oneOf('ada', 'bob', 'carla', undefined);
    const session = often(0.5) ? `s-${below(8)}` : undefined;
    const correlation = {
      project: 'default',
      service_name: oneOf('api', 'batch'),
      ...(environment === undefined ? {} : { environment }),
      ...(user === undefined ? {} : { user_id: user }),
      ...(session === undefined ? {} : { session_id: session }),
    };
    const root: CorpusSpan = {
      ...{ trace_id: traceId, span_id: idOf(), name: oneOf('answer', 'refund', 'summarise'), kind: 'agent_run' },
      status: isOpen ? 'unset' : often(0.12) ? 'error' : oneOf('ok', 'ok', 'unset'),
      start_time: iso(startedAt),
      ...(isOpen ? {} : { end_time: iso(startedAt + 5000 + below(40_000)) }),
      correlation,
    };
    const child = (): CorpusSpan => {
      const begins = startedAt + below(2000);
      const lasts = 10 + below(3000);
      const isFailed = often(0.05);
      const shared = {
        ...{ trace_id: traceId, span_id: idOf(), parent_span_id: root.span_id, correlation },
        status: isFailed ? ('error' as const) : ('ok' as const),
        ...(isOpen && often(0.5)
          ? { status: 'unset' as const, start_time: iso(begins) }
          : { start_time: iso(begins), end_time: iso(begins + lasts) }),
      };
      if (often(0.3)) return { ...shared, name: 'lookup', kind: 'tool_call', entity_name: oneOf('search', 'weather') };
      const model = oneOf(...Object.keys(published), 'own-7b', 'own-13b');
      const isUsed = !isFailed || often(0.3);
      return {
        ...{ ...shared, name: 'chat', kind: 'model_generation', model },
        provider: model.startsWith('own') ? 'vllm' : 'openai',
        ...(often(0.6) ? { entity_name: oneOf('planner', 'writer') } : {}),
        ...(isUsed ? { usage: { input_tokens: below(5000), output_tokens: 1 + below(900) } } : {}),
        ...(often(0.1) ? { cost: { total_cost: below(1000) / 1e5, currency: 'USD' } } : {}),
      };
    };
    return { traceId, spans: [root, ...Array.from({ length: below(7) }, child)] };
  };
  return Array.from({ length: options.traces }, (_, number) => traceOf(number));
};
