import { useEffect, useState } from 'react';
import type { LayoutRequest } from './layout-worker.ts';
import { requestLayout } from './request-layout.ts';

/** A layout, and whether it is the one that was asked for last. */
export type Laid<Layout> = { readonly layout: Layout; readonly isCurrent: boolean };

/**
 * Where everything of a picture stands; the last layout until the next is there.
 * @param request memoised by the caller; none while the room is not known
 * @param nothing what is drawn before the first layout
 */
export const useLayout = <Layout>(request: LayoutRequest | undefined, nothing: Layout): Laid<Layout> => {
  const [found, setFound] = useState<{ readonly of?: LayoutRequest; readonly layout: Layout }>({ layout: nothing });
  const [failure, setFailure] = useState<unknown>();
  useEffect(() => {
    if (request === undefined) return undefined;
    const work = new AbortController();
    requestLayout<Layout>(request, work.signal).then((layout) => setFound({ of: request, layout }), setFailure);
    return () => work.abort();
  }, [request]);
  if (failure !== undefined) throw failure;
  return { layout: found.layout, isCurrent: found.of === request };
};
