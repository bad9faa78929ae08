import { useEffect, useState } from 'react';
import type { LayoutRequest } from './layout-worker.ts';
import { requestLayout } from './request-layout.ts';

/**
 * Where everything of a picture stands; the last layout until the next is there.
 * @param request memoised by the caller; none while the room is not known
 * @param nothing what is drawn before the first layout
 */
export const useLayout = <Layout>(request: LayoutRequest | undefined, nothing: Layout): Layout => {
  const [found, setFound] = useState<Layout>(nothing);
  const [failure, setFailure] = useState<unknown>();
  useEffect(() => {
    if (request === undefined) return undefined;
    const work = new AbortController();
    requestLayout<Layout>(request, work.signal).then(setFound, setFailure);
    return () => work.abort();
  }, [request]);
  if (failure !== undefined) throw failure;
  return found;
};
