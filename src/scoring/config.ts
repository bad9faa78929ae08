import type { Result } from '../model/failure.ts';
import type { Json } from '../model/json.ts';
import type { SpanKind } from '../model/span.ts';

/** What a caller may set for the deterministic scorers. @see Interface decisions, "6. Scoring, datasets, experiments" */
export type ScorerConfig = {
  /** The right answer; else the one of the newest case that was captured from the run. */
  readonly expected?: Json;
  readonly contains?: string | readonly string[];
  readonly max_ms?: number;
  readonly max_cost?: number;
  readonly max_tool_calls?: number;
  readonly span_kind?: SpanKind;
  readonly span_name?: string;
  readonly tool_name?: string;
  /** Of the comparisons of answers; names are always compared exactly. */
  readonly case_sensitive?: boolean;
};

export const configKeys = [
  'expected',
  'contains',
  'max_ms',
  'max_cost',
  'max_tool_calls',
  'span_kind',
  'span_name',
  'tool_name',
  'case_sensitive',
] as const satisfies readonly (keyof ScorerConfig)[];
export type ConfigKey = (typeof configKeys)[number];

const SHOWN_CHARACTERS = 64;

/**
 * Takes the configuration of a request, whose known keys the interface document has checked. `null` is absent.
 * @returns `invalid_parameter` naming the first key that no scorer reads
 */
export const readScorerConfig = (given: Readonly<Record<string, unknown>>): Result<ScorerConfig> => {
  const config: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    if (!(configKeys as readonly string[]).includes(key)) {
      const shown = key.slice(0, SHOWN_CHARACTERS);
      return {
        ok: false,
        failure: {
          code: 'invalid_parameter',
          message: `${JSON.stringify(shown)} is not a key of \`config\`; scorers read ${configKeys.join(', ')}`,
          field: `config.${shown}`,
        },
      };
    }
    if (value !== null) config[key] = value;
  }
  return { ok: true, value: config };
};
