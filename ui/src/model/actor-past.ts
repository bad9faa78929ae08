import type { components } from '../api/types.ts';
import { firingText } from './schedule.ts';

type Actor = Pick<components['schemas']['ActorSnapshot'], 'type' | 'context'>;
type Firing = Parameters<typeof firingText>[0];

/** Something that an actor without a journal remembers of its past. */
export type KeptMoment = { readonly at: string; readonly what: string; readonly runId?: string };

export type KeptPast = {
  /** What is kept, and what is not, in a sentence or two. */
  readonly words: string;
  /** Newest first. */
  readonly moments: readonly KeptMoment[];
};

type Held = Readonly<Record<string, unknown>>;
const heldOf = (value: unknown): Held => (typeof value === 'object' && value !== null ? { ...value } : {});
const listOf = (value: unknown): readonly Held[] => (Array.isArray(value) ? value.map(heldOf) : []);
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** @param at milliseconds since 1970; nothing where it is none */
const momentOf = (at: unknown, what: string, runId?: unknown): readonly KeptMoment[] => {
  const id = textOf(runId);
  return typeof at === 'number'
    ? [{ at: new Date(at).toISOString(), what, ...(id === undefined ? {} : { runId: id }) }]
    : [];
};

const firingMoment = (firing: Held): readonly KeptMoment[] => {
  const { outcome, reason } = firing as { outcome?: Firing['outcome']; reason?: Firing['reason'] };
  const said = outcome === undefined ? 'fired' : firingText({ outcome, ...(reason === undefined ? {} : { reason }) });
  const asked = firing['triggerId'] === undefined ? '' : ', asked for by a call';
  return momentOf(firing['firedAt'] ?? firing['at'] ?? firing['nominalAt'], `${said}${asked}`, firing['runId']);
};

const stepText = ({ stepId }: Held): string => (textOf(stepId) === undefined ? 'a run' : `the step ${textOf(stepId)}`);

/** Of an actor that has no journal: what it remembers, and in words what nobody can say of its past. */
export const keptPastOf = ({ type, context }: Actor): KeptPast | undefined => {
  const held = heldOf(context);
  const newestFirst = (moments: readonly KeptMoment[]): readonly KeptMoment[] =>
    moments.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
  switch (type) {
    case 'schedule':
      return {
        words:
          'A schedule keeps no journal: it cannot be shown as it was, and two moments of it cannot be compared. It remembers its last ten firings, and how many firings started a run or did not.',
        moments: newestFirst([
          ...listOf(held['firings']).flatMap(firingMoment),
          ...momentOf(held['pausedAt'], 'paused'),
        ]),
      };
    case 'limit':
      return {
        words:
          'A key keeps no journal: it cannot be shown as it was, and two moments of it cannot be compared. It remembers who holds it and who waits for it, and since when; that a run was held back by it, and let in, stands in the journal of that run.',
        moments: newestFirst([
          ...listOf(held['holders']).flatMap((place) =>
            momentOf(place['since'], `let in: ${stepText(place)}, which still holds it`, place['runId']),
          ),
          ...listOf(held['line']).flatMap((place) =>
            momentOf(place['since'], `in line: ${stepText(place)}, which still waits`, place['runId']),
          ),
          ...momentOf(held['movedAt'], 'moved last'),
        ]),
      };
    case 'timer':
    case 'dispatcher':
    case 'outbox':
    case 'pipeline':
      return {
        words:
          'It keeps no journal, and begins anew with each start of the service: it cannot be shown as it was. GET /metrics counts what it did.',
        moments: [],
      };
    // These have a journal, or their run has: they are shown as they were.
    case 'run':
    case 'lease':
    case 'monitor':
    case 'slo':
      return undefined;
    default:
      return {
        words: 'It keeps no journal: it cannot be shown as it was, and two moments of it cannot be compared.',
        moments: [],
      };
  }
};
