import { useEffect, useMemo, useState } from 'react';
import { type ChartLayout, layoutInRoom } from '../../model/statechart-layout.ts';
import type { LayoutRequest } from './layout-worker.ts';

/** Charts of more states are placed beside the page. */
const IN_PLACE_STATES = 40;
const NOTHING: ChartLayout = { width: 0, height: 0, nodes: [], edges: [], starts: [] };

/** Where everything of a chart stands. A large one keeps its last layout until the next is there. */
export const useLayout = ({ chart, opened, room }: LayoutRequest): ChartLayout => {
  const isLarge = chart.states.length > IN_PLACE_STATES;
  const placed = useMemo(
    () => (isLarge ? undefined : layoutInRoom(chart, opened, room)),
    [isLarge, chart, opened, room],
  );
  const [found, setFound] = useState(NOTHING);
  useEffect(() => {
    if (!isLarge) return undefined;
    const request: LayoutRequest = { chart, opened, room };
    // A file of the origin: the content security policy allows no other worker.
    const worker = new Worker(new URL('./layout-worker.ts', import.meta.url), { type: 'module' });
    worker.addEventListener('message', ({ data }: MessageEvent<ChartLayout>) => setFound(data));
    worker.addEventListener('error', () => setFound(layoutInRoom(chart, opened, room)));
    worker.postMessage(request);
    return () => worker.terminate();
  }, [isLarge, chart, opened, room]);
  return placed ?? found;
};
