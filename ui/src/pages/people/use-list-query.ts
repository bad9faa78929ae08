import { useMemo } from 'react';
import { oneOf } from '../../model/url.ts';
import type { Sorting } from '../../widgets/data-table.tsx';
import { usePageState, useShared } from '../../widgets/page-state.ts';

const PAGE_ROWS = 100;

/** Project and time of the bar on top; these lists take no environment. */
export const useListQuery = () => {
  const [{ project, from, to }] = useShared();
  return useMemo(
    () => ({
      limit: PAGE_ROWS,
      ...(project === undefined ? {} : { project }),
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    }),
    [project, from, to],
  );
};

const grammar = {
  sort: oneOf(['last_seen', 'first_seen', 'trace_count', 'error_count', 'cost'], 'last_seen'),
  order: oneOf(['asc', 'desc'], 'desc'),
} as const;

/** The order of sessions or users, and how it is changed. */
export const useOrder = () => {
  const [{ sort = 'last_seen', order = 'desc' }, setState] = usePageState(grammar);
  return {
    sorting: { sort, order },
    onSort: (next: Sorting): void => setState({ sort: grammar.sort.parse(next.sort), order: next.order }, 'push'),
  };
};
