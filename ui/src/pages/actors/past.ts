import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask } from '../../api/client.ts';
import { type JournalEntry, readJournal } from '../../api/journal.ts';

/** An entry of an actor's journal. */
export type Moment = { readonly seq: number; readonly at: string; readonly what: string };

const PAGE = 1000;

type Past = {
  readonly moments: readonly Moment[];
  readonly isCut: boolean;
  /** The journal of a run, from which its messages are read. */
  readonly entries?: readonly JournalEntry[];
};

const pastOfRun = async (runId: string, signal: AbortSignal): Promise<Past> => {
  const { entries, isCut } = await readJournal(runId, signal);
  const moments = entries.map(({ seq, at, kind, step_id: step }) => ({
    seq,
    at,
    what: step === undefined ? kind : `${kind} ${step}`,
  }));
  return { moments, isCut, entries };
};

type Transition = { readonly seq: number; readonly at: string; readonly event: string; readonly to: string };

const pastOfTransitions = (transitions: readonly Transition[], isCut: boolean): Past => ({
  moments: transitions
    .map(({ seq, at, event, to }) => ({ seq, at, what: `${event}: ${to}` }))
    .toSorted((a, b) => a.seq - b.seq),
  isCut,
});

/** A lease has no journal of its own: the entries of that of its run, from its offer to its end. */
const pastOfLease = async (leaseId: string, runId: string, signal: AbortSignal): Promise<Past> => {
  const { moments, isCut, entries } = await pastOfRun(runId, signal);
  const own = new Set(entries?.filter(({ lease_id: id }) => id === leaseId).map(({ seq }) => seq));
  return { moments: moments.filter(({ seq }) => own.has(seq)), isCut };
};

const read = async (type: string, id: string, runId: string | undefined, signal: AbortSignal): Promise<Past> => {
  if (type === 'run') return pastOfRun(id, signal);
  if (type === 'lease') return pastOfLease(id, runId ?? '', signal);
  const params = { path: { id }, query: { limit: PAGE } };
  const { transitions, next_cursor } =
    type === 'monitor'
      ? await ask(api.GET('/v1/api/monitors/{id}/history', { params, signal }))
      : await ask(api.GET('/v1/api/slos/{id}/history', { params, signal }));
  return pastOfTransitions(transitions, next_cursor !== undefined);
};

/** The actors that can be seen as they were: `at_seq` is theirs alone. */
export const hasPast = (type: string): boolean => isAudited(type) || type === 'monitor' || type === 'slo';
/** Those whose past stands in the journal of a run. */
const isAudited = (type: string): boolean => type === 'run' || type === 'lease';

/**
 * The entries of an actor's journal, or of that of the run of a lease. That of a run may hold what its steps were given, and each read of it is audited: it is
 * read when somebody asks for it, or when the address names a moment.
 */
export const usePast = (type: string, id: string, runId: string | undefined, isNamed: boolean) => {
  const [wanted, setWanted] = useState(false);
  const isAsked = hasPast(type) && (wanted || isNamed || !isAudited(type));
  const { data, error } = useQuery({
    queryKey: ['actors', type, id, 'past'],
    enabled: isAsked && (type !== 'lease' || runId !== undefined),
    queryFn: ({ signal }) => read(type, id, runId, signal),
  });
  return {
    moments: data?.moments ?? NONE,
    entries: data?.entries,
    isCut: data?.isCut ?? false,
    error,
    isAsked,
    askFor: () => setWanted(true),
  };
};

const NONE: readonly Moment[] = [];
