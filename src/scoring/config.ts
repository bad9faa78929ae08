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

/** Of the strings in `config.contains`: each answer is searched for all of them. */
export const containsBounds = { strings: 1000, characters: 100_000 } as const;

const SHOWN_CHARACTERS = 64;

const findContainsFault = (contains: NonNullable<ScorerConfig['contains']>): string | undefined => {
  const strings = [contains].flat();
  if (strings.length > containsBounds.strings)
    return `has ${strings.length} strings, more than ${containsBounds.strings}: name fewer, or score the rest in another request`;
  const characters = strings.reduce((sum, { length }) => sum + length, 0);
  if (characters > containsBounds.characters)
    return `has ${characters} characters in all, more than ${containsBounds.characters}: name fewer or shorter strings, or score the rest in another request`;
  return undefined;
};

/**
 * Takes the configuration of a request, whose known keys the interface document has checked. `null` is absent.
 * @returns `invalid_parameter` naming the first key that no scorer reads, or `contains` where it is over `containsBounds`
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
  const { contains }: ScorerConfig = config;
  const fault = contains === undefined ? undefined : findContainsFault(contains);
  if (fault !== undefined)
    return {
      ok: false,
      failure: { code: 'invalid_parameter', message: `\`config.contains\` ${fault}`, field: 'config.contains' },
    };
  return { ok: true, value: config };
};
