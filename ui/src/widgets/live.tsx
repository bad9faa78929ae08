import { useQuery, type UseQueryOptions, type UseQueryResult } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useMemo, useState } from 'react';
import { Problem } from '../api/problem.ts';
import { usePrefs } from './prefs.tsx';

type Live = {
  readonly isLive: boolean;
  readonly setLive: (live: boolean) => void;
  /** Milliseconds between two reads of a list; nothing while it is not live. */
  readonly pollMs: number | undefined;
};
const Context = createContext<Live>({ isLive: false, setLive: () => {}, pollMs: undefined });

/** Whether lists ask again by themselves. */
export const useLive = (): Live => useContext(Context);

export const LiveProvider = ({ children }: { readonly children: ReactNode }) => {
  const [wanted, setLive] = useState(true);
  const { pollSeconds } = usePrefs().prefs;
  const isLive = wanted && pollSeconds > 0;
  const held = useMemo<Live>(
    () => ({ isLive, setLive, pollMs: isLive ? pollSeconds * 1000 : undefined }),
    [isLive, pollSeconds],
  );
  return <Context value={held}>{children}</Context>;
};

/** An unchanged list is asked for less and less often, down to this. */
const SLOWEST_POLL_MS = 30_000;
/** Answers that were the same as the one before, by their query. */
const unchanged = new WeakMap<object, { data: unknown; at: number; times: number }>();

const nextPoll = (
  query: { readonly state: { data: unknown; dataUpdatedAt: number; error: unknown } },
  pollMs: number,
): number => {
  const { data, dataUpdatedAt, error } = query.state;
  if (error instanceof Problem && error.retryAfterMs !== undefined) return Math.max(pollMs, error.retryAfterMs);
  const seen = unchanged.get(query);
  // The same object: the library keeps it where an answer says the same as the one before.
  if (seen === undefined || seen.data !== data) unchanged.set(query, { data, at: dataUpdatedAt, times: 0 });
  else if (seen.at !== dataUpdatedAt) unchanged.set(query, { data, at: dataUpdatedAt, times: seen.times + 1 });
  const times = unchanged.get(query)?.times ?? 0;
  return Math.min(pollMs * 1.5 ** times, Math.max(SLOWEST_POLL_MS, pollMs));
};

/**
 * A query that is asked again while the page is live and its tab is seen.
 * @param active false where nothing can change any more
 * @param mayChange the same, read from what was found
 */
export const usePolled = <T,>(
  options: UseQueryOptions<T>,
  active = true,
  mayChange: (data: T) => boolean = () => true,
): UseQueryResult<T> => {
  const { pollMs } = useLive();
  return useQuery({
    ...options,
    refetchInterval: (query) => {
      const { data } = query.state;
      const isOver = data !== undefined && !mayChange(data);
      return active && pollMs !== undefined && !isOver ? nextPoll(query, pollMs) : false;
    },
    refetchIntervalInBackground: false,
  });
};
