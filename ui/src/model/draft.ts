import { type Chart, chartOfDefinition } from './statechart.ts';

/** A definition while it is written. */
export type Draft =
  | { readonly kind: 'empty' }
  | { readonly kind: 'broken'; readonly message: string }
  | { readonly kind: 'json'; readonly definition: Readonly<Record<string, unknown>>; readonly chart: Chart };

export type Fault = { readonly path: string; readonly message: string };

/** Longer texts are refused by the service; they are not even parsed here. */
const MAX_CHARACTERS = 1024 * 1024;

export const parseDraft = (text: string): Draft => {
  if (text.trim() === '') return { kind: 'empty' };
  if (text.length > MAX_CHARACTERS) return { kind: 'broken', message: 'a definition has at most 1,048,576 characters' };
  try {
    const definition: unknown = JSON.parse(text);
    if (typeof definition !== 'object' || definition === null || Array.isArray(definition))
      return { kind: 'broken', message: 'a definition is a JSON object' };
    return {
      kind: 'json',
      definition: definition as Readonly<Record<string, unknown>>,
      chart: chartOfDefinition(definition),
    };
  } catch (error) {
    return { kind: 'broken', message: error instanceof Error ? error.message : 'not JSON' };
  }
};

/** How many faults each step has, by the id of its state in the picture. */
export const faultsByStep = ({ definition }: { readonly definition: object }, faults: readonly Fault[]) => {
  const steps: unknown = (definition as { readonly steps?: unknown }).steps;
  const counts = new Map<string, number>();
  for (const { path } of faults) {
    const index = Number(/^steps\[(\d+)\]/.exec(path)?.[1] ?? Number.NaN);
    if (!Array.isArray(steps) || !(index < steps.length)) continue;
    const step = steps[index] as { readonly id?: unknown } | null;
    const key = typeof step?.id === 'string' ? step.id : `step ${index + 1}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
};

/** What an empty editor begins with. */
export const SAMPLE_DEFINITION = {
  id: 'hello',
  version: 1,
  steps: [
    { id: 'greet', kind: 'task', input: { name: '${input.name}' }, next: 'done' },
    { id: 'done', kind: 'succeed', output: '${steps.greet.output}' },
  ],
};
