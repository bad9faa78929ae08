import type { SignalRefusal } from '../../ingest/decoded.ts';
import type { FailureCode } from '../../model/failure.ts';
import type { SignalName } from '../../model/signal.ts';
import type { UnixNano } from '../../model/time.ts';
import { apiDocument } from '../contract/contract.ts';

/** Refusals of one kind at one door. Nothing that a sender wrote is in it: no message, no value, no name of its own, no address. */
export type RefusalGroup = {
  /** The path of the door or of a call on a lease, or the method of OTLP over gRPC. */
  readonly door: string;
  readonly code: FailureCode;
  /** Of a refused signal its kind; absent where the request was refused. */
  readonly signal?: SignalName;
  /** The field at fault, where it is one of the interface's own. */
  readonly field?: string;
  readonly count: number;
  readonly firstAt: UnixNano;
  readonly lastAt: UnixNano;
};

type Refused = { readonly code: FailureCode; readonly signal?: SignalName; readonly field?: string };

/** What the doors refused since the start of the process, by kind. */
export type RefusalLog = {
  readonly note: (door: string, refused: Refused, count?: number) => void;
  readonly noteSignals: (door: string, refusals: readonly SignalRefusal[]) => void;
  /** The group that grew last comes first. */
  readonly list: () => {
    readonly since: UnixNano;
    readonly groups: readonly RefusalGroup[];
    readonly forgotten: number;
  };
};

/** Groups that are kept; the one that grew longest ago is forgotten first. */
const MOST_GROUPS = 200;
const MOST_SEGMENTS = 6;

/** Every name of a field in the document: a name that is not among them was made up by a sender. */
const documentedNames = (): ReadonlySet<string> => {
  const names = new Set<string>();
  const gather = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      if (key === 'properties' && typeof value === 'object' && value !== null)
        for (const name of Object.keys(value)) names.add(name);
      gather(value);
    }
  };
  gather(apiDocument);
  return names;
};
let known: ReadonlySet<string> | undefined;

/** A field without positions, where each of its names is one of ours. */
const ownField = (field: string | undefined): string | undefined => {
  if (field === undefined) return undefined;
  known ??= documentedNames();
  const segments = field.replaceAll(/\[\d+\]/g, '').split('.', MOST_SEGMENTS + 1);
  return segments.length <= MOST_SEGMENTS && segments.every((segment) => known?.has(segment) === true)
    ? segments.join('.')
    : undefined;
};

export const createRefusalLog = (clock: () => UnixNano): RefusalLog => {
  const since = clock();
  const groups = new Map<string, RefusalGroup>();
  let forgotten = 0;
  const note: RefusalLog['note'] = (door, { code, signal, field }, count = 1) => {
    const own = ownField(field);
    const key = JSON.stringify([door, code, signal, own]);
    const before = groups.get(key);
    const now = clock();
    groups.delete(key);
    groups.set(key, {
      door,
      code,
      ...(signal === undefined ? {} : { signal }),
      ...(own === undefined ? {} : { field: own }),
      count: (before?.count ?? 0) + count,
      firstAt: before?.firstAt ?? now,
      lastAt: now,
    });
    if (groups.size <= MOST_GROUPS) return;
    for (const [oldest] of groups) {
      groups.delete(oldest);
      forgotten += 1;
      return;
    }
  };
  return {
    note,
    noteSignals: (door, refusals) => {
      const counts = new Map<string, { readonly refused: Refused; count: number }>();
      for (const { code, signal, field } of refusals) {
        const key = `${code} ${signal} ${field ?? ''}`;
        const found = counts.get(key);
        if (found !== undefined) found.count += 1;
        else counts.set(key, { refused: { code, signal, ...(field === undefined ? {} : { field }) }, count: 1 });
      }
      for (const { refused, count } of counts.values()) note(door, refused, count);
    },
    list: () => ({ since, groups: [...groups.values()].reverse(), forgotten }),
  };
};
