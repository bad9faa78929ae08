import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { useLive } from './live.tsx';

/** A page of a list of the API: its rows under any name, and where it goes on. */
type ListPage<Row> = { readonly rows: readonly Row[]; readonly next: string | undefined };

export type Paged<Row> = {
  readonly data: readonly Row[] | undefined;
  readonly error: unknown;
  readonly hasMore: boolean;
  readonly isFetching: boolean;
  readonly refetch: () => void;
  /** Reads the next page, if there is one and none is being read. */
  readonly more: () => void;
};

/**
 * A list that is read on as the reader scrolls. Only its first page is asked for again by itself, and only while that is all
 * that was read: rows that are looked at do not move.
 */
export const usePaged = <Row>(
  queryKey: readonly unknown[],
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<ListPage<Row>>,
  /** False where the question is not complete yet. */
  enabled = true,
): Paged<Row> => {
  const { pollMs } = useLive();
  const { data, error, hasNextPage, isFetching, isFetchingNextPage, fetchNextPage, refetch } = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    enabled,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (pollMs !== undefined && (state.data?.pages.length ?? 0) <= 1 ? pollMs : false),
  });
  const rows = useMemo(() => data?.pages.flatMap((page) => page.rows), [data]);
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return { data: rows, error, hasMore: hasNextPage, isFetching, refetch: () => void refetch(), more };
};
