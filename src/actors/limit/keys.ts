import { hash } from 'node:crypto';
import type { CompiledDefinition, CompiledStep } from '../../model/definition/compile.ts';
import { type Concurrency, definitionBounds, type OnLimit, type Rate } from '../../model/definition/definition.ts';
import type { ExpressionScope } from '../../model/definition/expression-scope.ts';
import { type Evaluated, expressionError } from '../../model/definition/step-error.ts';
import { renderAsText, type Template } from '../../model/definition/template.ts';
import type { LimitKind, RunIdentity } from '../../store/runs/run-store.ts';

/** A key, expanded: what is counted together, and how many there may be. */
export type Key = {
  readonly limitId: string;
  readonly kind: LimitKind;
  readonly key: string;
  readonly limit: number;
  /** Of a rate. */
  readonly perMs?: number;
};
/** The keys of a run, or of a step of one: one of the two at least. */
export type Keys = {
  readonly concurrency?: Key & { readonly onLimit: OnLimit };
  readonly rate?: Key;
};

/** Whose keys: they count within a project, and those of other definitions and steps are other keys. */
export type KeyOwner = Pick<RunIdentity, 'project' | 'definitionOwner' | 'definitionId'> & { readonly stepId?: string };

/** What says which keys there are: a definition or a task, and its templates. */
type Limited = {
  readonly concurrency: Concurrency | undefined;
  readonly rate: Rate | undefined;
  readonly concurrencyKey: Template | undefined;
  readonly rateKey: Template | undefined;
};
export const limitedDefinition = ({ definition, concurrencyKey, rateKey }: CompiledDefinition): Limited => ({
  concurrency: definition.concurrency,
  rate: definition.rate,
  concurrencyKey,
  rateKey,
});
export const limitedStep = ({ step, concurrencyKey, rateKey }: CompiledStep): Limited => ({
  concurrency: step.kind === 'task' ? step.concurrency : undefined,
  rate: step.kind === 'task' ? step.rate : undefined,
  concurrencyKey,
  rateKey,
});

/**
 * Opaque: 128 bits of a digest, as base64url. Each start of a run makes one for each of its keys, so it must be cheap: to ask for text
 * costs less than half of a buffer that is cut and then encoded. The last character holds two bits.
 */
const digestOf = (text: string): string => {
  const all = hash('sha256', text, 'base64url');
  const last = BASE64URL.indexOf(all.charAt(21)) & 0b110000;
  return all.slice(0, 21) + BASE64URL.charAt(last);
};
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** The same for the same key. */
const idOf = (
  kind: LimitKind,
  { project, definitionOwner, definitionId, stepId = '' }: KeyOwner,
  key: string,
): string => digestOf(JSON.stringify([kind, project, definitionOwner, definitionId, stepId, key]));

/** The line of those who need just these keys. */
export const lineIdOf = ([first = '', second]: readonly string[]): string =>
  second === undefined ? first : digestOf(`${first} ${second}`);

/** What a key reads, of a run or of a step of one: it is the same for every attempt. @see `model/definition/parse.ts` */
export type KeySource = Required<Pick<ExpressionScope, 'input' | 'correlation'>>;
const scopeOf = ({ input, correlation }: KeySource): ExpressionScope => ({
  input,
  correlation,
  state: {},
  steps: {},
  run: {},
  visits: {},
});

const expand = (kind: LimitKind, owner: KeyOwner, template: Template, scope: ExpressionScope): Evaluated<string> => {
  const key = renderAsText(template, scope);
  if (!key.ok) return expressionError(`${kind}.key${at(owner)}: ${key.error.message}`);
  const { keyCharacters } = definitionBounds;
  if (key.value.length > keyCharacters)
    return expressionError(
      `${kind}.key${at(owner)} has ${key.value.length} characters, at most ${keyCharacters} are allowed`,
    );
  return key;
};
const at = ({ stepId }: KeyOwner): string => (stepId === undefined ? '' : ` of step ${stepId}`);

const NONE: Evaluated<Keys | undefined> = { ok: true, value: undefined };

/**
 * Expands the keys of a definition or of a task.
 * @param source asked only where there is a key
 * @returns no keys where the definition or the task names none
 */
export const keysOf = (
  { concurrency, rate, concurrencyKey, rateKey }: Limited,
  owner: KeyOwner,
  source: () => KeySource,
): Evaluated<Keys | undefined> => {
  if (concurrencyKey === undefined && rateKey === undefined) return NONE;
  const scope = scopeOf(source());
  const keys: { concurrency?: Keys['concurrency']; rate?: Keys['rate'] } = {};
  if (concurrency !== undefined && concurrencyKey !== undefined) {
    const key = expand('concurrency', owner, concurrencyKey, scope);
    if (!key.ok) return key;
    const { limit, onLimit } = concurrency;
    const limitId = idOf('concurrency', owner, key.value);
    keys.concurrency = { limitId, kind: 'concurrency', key: key.value, limit, onLimit };
  }
  if (rate !== undefined && rateKey !== undefined) {
    const key = expand('rate', owner, rateKey, scope);
    if (!key.ok) return key;
    const { limit, perMs } = rate;
    keys.rate = { limitId: idOf('rate', owner, key.value), kind: 'rate', key: key.value, limit, perMs };
  }
  return { ok: true, value: keys as Keys };
};
