import type { RunContext } from '../../machines/run.ts';
import type { ExpressionScope } from '../../model/definition/expression-scope.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import { formatTimestamp, unixNanoFromMillis } from '../../model/time.ts';
import type { RunRecord, StoredDocuments } from '../../store/runs/run-store.ts';
import { storedSlot, type Turn } from '../runs-kernel.ts';
import { Damaged, parseStored } from './quarantined.ts';
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

const isParsed = (value: StoredDocuments | RunDocuments): value is RunDocuments => !Array.isArray(value.state);

/** @throws Damaged when one of them is no JSON any more */
export const parseDocuments = (runId: string, stored: StoredDocuments): RunDocuments => ({
  input: parseStored<Json>(runId, stored.input, 'its input'),
  ...(stored.output === undefined ? {} : { output: parseStored<Json>(runId, stored.output, 'its output') }),
  ...(stored.event === undefined
    ? {}
    : { event: parseStored<JsonObject>(runId, stored.event, 'the last event it took') }),
  state: parsedMap(stored.state, (key, body) => parseStored<Json>(runId, body, `"${key}" of its state`)),
  steps: parsedMap(stored.steps, (step, body) => ({
    output: parseStored<Json>(runId, body, `the output of step "${step}"`),
  })),
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

/** Which documents, and of which steps the store is asked for the outputs: those that were visited. */
type DocumentsKey = { readonly runId: string; readonly visits: RunContext['visits'] };

/** The payloads of runs: as they are stored, or parsed. */
export const documentsSlot = storedSlot<DocumentsKey, 'documents', RunDocuments>({
  name: 'documents',
  lifetime: 'kept',
  keyOf: ({ runId }) => runId,
  lookup: ({ runId, visits }) => ({ kind: 'documents', runId, steps: Object.keys(visits) }),
  weigh: (held) => (held !== undefined && isParsed(held) ? 2 * held.characters : 0),
});

/** A run as far as its payloads go: the run in memory, or in the middle of a turn. */
type RunInHand = Pick<RunActor, 'record' | 'snapshot'>;

export const documentsKeyOf = ({ record, snapshot }: RunInHand): DocumentsKey => ({
  runId: record.runId,
  visits: snapshot.context.visits,
});

/** Stands where a visit ended without an output after one that had one: no JSON text is empty. */
export const NO_OUTPUT = '';

/** Keys come from outside, so the object has no prototype to be mistaken for. */
const parsedMap = <T>(
  rows: readonly (readonly [string, string])[],
  parse: (key: string, body: string) => T,
): { readonly [key: string]: T } => {
  const map: Record<string, T> = Object.create(null);
  for (const [key, body] of rows) if (body !== NO_OUTPUT) map[key] = parse(key, body);
  return map;
};

export const readDocuments = (turn: Turn, run: RunInHand): RunDocuments => {
  const key = documentsKeyOf(run);
  const found = turn.read(documentsSlot, key);
  if (found === undefined) throw new Damaged(key.runId, 'its input');
  if (isParsed(found)) return found;
  const parsed = parseDocuments(key.runId, found);
  turn.keep(documentsSlot, key, parsed);
  return parsed;
};

/** @throws Damaged when it is no JSON any more */
export const readCorrelation = ({ runId, correlation }: Pick<RunRecord, 'runId' | 'correlation'>): JsonObject =>
  parseStored(runId, correlation, 'its correlation');

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
    correlation: readCorrelation(record),
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
