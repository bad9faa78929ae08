import type { ExpressionScope } from '../../model/definition/expression-scope.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import { formatTimestamp, unixNanoFromMillis } from '../../model/time.ts';
import type { StoredDocuments } from '../../store/runs/run-store.ts';
import type { Turn } from '../kernel/kernel.ts';
import type { RunActor } from './run-state.ts';

/** The payloads of a run, parsed. Read when an expression or a worker needs them. */
export type RunDocuments = {
  readonly input: Json;
  readonly output?: Json;
  readonly event?: JsonObject;
  readonly state: JsonObject;
  readonly steps: { readonly [stepId: string]: { readonly output?: Json } };
  /** Characters of all that was written, replaced values included: what bounds memory and leases. */
  readonly characters: number;
};

export const documentsKey = (runId: string): string => `documents/${runId}`;

const isParsed = (value: StoredDocuments | RunDocuments): value is RunDocuments => !Array.isArray(value.state);

export const parseDocuments = (stored: StoredDocuments): RunDocuments => ({
  input: JSON.parse(stored.input) as Json,
  ...(stored.output === undefined ? {} : { output: JSON.parse(stored.output) as Json }),
  ...(stored.event === undefined ? {} : { event: JSON.parse(stored.event) as JsonObject }),
  state: parsedMap(stored.state, (body) => body),
  steps: parsedMap(stored.steps, (output) => ({ output })),
  characters:
    stored.input.length +
    (stored.output?.length ?? 0) +
    (stored.event?.length ?? 0) +
    charactersOf(stored.state) +
    charactersOf(stored.steps),
});

const charactersOf = (rows: readonly (readonly [string, string])[]): number =>
  rows.reduce((sum, [key, body]) => sum + key.length + body.length, 0);

/**
 * Input, state and outputs of one run together. Every lease carries them all, so they are bounded: a run that holds more
 * takes no further output and no state patch.
 */
export const RUN_CHARACTERS = 32 * 1024 * 1024;

/** About how many bytes memory holds under a key. */
export const weighDocuments = (key: string, value: unknown): number =>
  key.startsWith('documents/') && typeof value === 'object' && value !== null && 'characters' in value
    ? 2 * (value as RunDocuments).characters
    : 0;

/** Stands where a visit ended without an output after one that had one: no JSON text is empty. */
export const NO_OUTPUT = '';

/** Keys come from outside, so the object has no prototype to be mistaken for. */
const parsedMap = <T>(
  rows: readonly (readonly [string, string])[],
  wrap: (body: Json) => T,
): { readonly [key: string]: T } => {
  const map: Record<string, T> = Object.create(null);
  for (const [key, body] of rows) if (body !== NO_OUTPUT) map[key] = wrap(JSON.parse(body) as Json);
  return map;
};

export const readDocuments = (turn: Turn, run: RunInHand): RunDocuments => {
  const { runId } = run.record;
  const key = documentsKey(runId);
  const steps = Object.keys(run.snapshot.context.visits);
  const found: StoredDocuments | RunDocuments | undefined = turn.read(key, { kind: 'documents', runId, steps });
  if (found === undefined) throw new Error(`run ${runId} has no documents`);
  if (isParsed(found)) return found;
  const documents = parseDocuments(found);
  turn.keep(key, documents);
  return documents;
};

/** A run as far as its payloads go: the run in memory, or in the middle of a turn. */
type RunInHand = Pick<RunActor, 'record' | 'snapshot'>;

/** What templates and conditions of this run read. @see `model/definition/expression-scope.ts` */
export const scopeOf = (run: RunInHand, documents: RunDocuments, item?: Json): ExpressionScope => {
  const { record, snapshot } = run;
  const { error, visits } = snapshot.context;
  return {
    input: documents.input,
    state: documents.state,
    steps: documents.steps,
    run: {
      run_id: record.runId,
      definition_id: record.definitionId,
      definition_version: record.definitionVersion,
      created_at: formatTimestamp(unixNanoFromMillis(record.createdAt)),
      project: record.project,
    },
    correlation: JSON.parse(record.correlation) as JsonObject,
    visits,
    ...(item === undefined ? {} : { item }),
    ...(documents.event === undefined ? {} : { event: documents.event }),
    ...(error === undefined
      ? {}
      : {
          error: {
            class: error.class,
            message: error.message,
            ...(error.code === undefined ? {} : { code: error.code }),
            ...(error.stepId === undefined ? {} : { step_id: error.stepId }),
          },
        }),
  };
};
