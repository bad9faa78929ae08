import { useMemo } from 'react';
import { useShared } from '../../widgets/page-state.ts';

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
