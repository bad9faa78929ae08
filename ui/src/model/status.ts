import type { components } from '../api/types.ts';

type Schemas = components['schemas'];
export type SpanKind = Schemas['SpanKind'];

/** How a state looks: never by colour alone, always a glyph and a word. */
export type Look = { readonly glyph: string; readonly word: string; readonly color: string };

/** Glyphs that plain text fonts have: the sign for pause, for one, is missing on many machines without emoji. */
const looks = {
  ok: { glyph: '✓', word: 'ok', color: 'ok' },
  succeeded: { glyph: '✓', word: 'succeeded', color: 'ok' },
  nominal: { glyph: '✓', word: 'nominal', color: 'ok' },
  error: { glyph: '✕', word: 'error', color: 'error' },
  failed: { glyph: '✕', word: 'failed', color: 'error' },
  regressed: { glyph: '✕', word: 'regressed', color: 'error' },
  improved: { glyph: '✓', word: 'improved', color: 'ok' },
  tripped: { glyph: '✕', word: 'tripped', color: 'error' },
  unset: { glyph: '◐', word: 'running', color: 'running' },
  running: { glyph: '◐', word: 'running', color: 'running' },
  scheduled: { glyph: '○', word: 'scheduled', color: 'cancelled' },
  queued: { glyph: '○', word: 'queued', color: 'cancelled' },
  offered: { glyph: '○', word: 'offered', color: 'cancelled' },
  waiting: { glyph: '‖', word: 'waiting', color: 'waiting' },
  paused: { glyph: '‖', word: 'paused', color: 'waiting' },
  backoff: { glyph: '↻', word: 'backoff', color: 'backoff' },
  holding: { glyph: '↻', word: 'holding', color: 'backoff' },
  expiring: { glyph: '↻', word: 'expiring', color: 'backoff' },
  orphaned: { glyph: '⚠', word: 'orphaned', color: 'orphaned' },
  silent: { glyph: '⚠', word: 'silent', color: 'orphaned' },
  fenced: { glyph: '⚠', word: 'fenced', color: 'orphaned' },
  unservable: { glyph: '⚠', word: 'unservable', color: 'orphaned' },
  acknowledged: { glyph: '◇', word: 'acknowledged', color: 'acknowledged' },
  cancelled: { glyph: '⊘', word: 'cancelled', color: 'cancelled' },
  started: { glyph: '✓', word: 'started', color: 'ok' },
  skipped: { glyph: '⊘', word: 'skipped', color: 'backoff' },
  next: { glyph: '○', word: 'next', color: 'running' },
  lapsed: { glyph: '⊘', word: 'lapsed', color: 'cancelled' },
} as const satisfies Record<string, Look>;

/** @param state a word of the API; one of a later release is shown as it is */
export const lookOf = (state: string): Look =>
  Object.hasOwn(looks, state) ? looks[state as keyof typeof looks] : { glyph: '○', word: state, color: 'cancelled' };

const kindColors: Readonly<Record<SpanKind, string>> = {
  model_generation: 'kind-model',
  agent_run: 'kind-agent',
  workflow_run: 'kind-agent',
  tool_call: 'kind-tool',
  mcp_tool_call: 'kind-tool',
  client_tool_call: 'kind-tool',
  provider_tool_call: 'kind-tool',
  retrieval: 'kind-retrieval',
  rag_embedding: 'kind-retrieval',
  rag_action: 'kind-retrieval',
  guardrail: 'kind-guardrail',
  scorer_run: 'kind-scorer',
  http_request: 'kind-http',
  generic: 'kind-generic',
};

/** Every kind: the colours have one of each, or they would not compile. */
export const spanKinds = Object.keys(kindColors) as SpanKind[];

/** The token of a kind's colour, without its two dashes. */
export const colorOfKind = (kind: SpanKind): string => kindColors[kind] ?? 'kind-generic';

/** `model_generation` as people say it: `model generation`. */
export const inWords = (name: string): string => name.replaceAll('_', ' ');
