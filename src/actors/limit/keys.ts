import { createHash } from 'node:crypto';
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

/** The same for the same key, and opaque: 128 bits of a digest. */
const idOf = (
  kind: LimitKind,
  { project, definitionOwner, definitionId, stepId = '' }: KeyOwner,
  key: string,
): string =>
  createHash('sha256')
    .update(JSON.stringify([kind, project, definitionOwner, definitionId, stepId, key]))
    .digest()
    .subarray(0, 16)
    .toString('base64url');

/** The line of those who need just these keys. */
export const lineIdOf = ([first = '', second]: readonly string[]): string =>
  second === undefined
    ? first
    : createHash('sha256').update(`${first} ${second}`).digest().subarray(0, 16).toString('base64url');

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

/** Expands the keys of a definition or of a task. @returns no keys where it names none */
export const keysOf = (
  limited: Limited,
  owner: KeyOwner,
  scope: () => ExpressionScope,
): Evaluated<Keys | undefined> => {
  const { concurrency, rate, concurrencyKey, rateKey } = limited;
  let keys: Keys | undefined;
  if (concurrency !== undefined && concurrencyKey !== undefined) {
    const key = expand('concurrency', owner, concurrencyKey, scope());
    if (!key.ok) return key;
    const { limit, onLimit } = concurrency;
    const limitId = idOf('concurrency', owner, key.value);
    keys = { concurrency: { limitId, kind: 'concurrency', key: key.value, limit, onLimit } };
  }
  if (rate !== undefined && rateKey !== undefined) {
    const key = expand('rate', owner, rateKey, scope());
    if (!key.ok) return key;
    const { limit, perMs } = rate;
    keys = { ...keys, rate: { limitId: idOf('rate', owner, key.value), kind: 'rate', key: key.value, limit, perMs } };
  }
  return { ok: true, value: keys };
};
