import type { CallGraph } from '../../model/call-graph.ts';
import { layOutInRoom } from '../../model/call-layout.ts';
import type { Chart } from '../../model/statechart.ts';
import { layoutChart, layoutInRoom } from '../../model/statechart-layout.ts';
import type { Room } from '../../model/statechart-view.ts';

/** What is to be placed: a statechart, or the calls of a trace. A chart without a room is placed downwards. */
export type LayoutRequest =
  | {
      readonly kind: 'chart';
      readonly chart: Chart;
      readonly opened: ReadonlySet<string>;
      readonly room?: Room;
    }
  | { readonly kind: 'calls'; readonly graph: CallGraph; readonly room: Room };

const placed = (request: LayoutRequest): unknown => {
  if (request.kind === 'calls') return layOutInRoom(request.graph, request.room);
  const { chart, opened, room } = request;
  return room === undefined ? layoutChart(chart, opened) : layoutInRoom(chart, opened, room);
};

/** A large picture takes hundreds of milliseconds to place. The page goes on meanwhile, and never loads the library for it. */
self.addEventListener('message', ({ data }: MessageEvent<LayoutRequest>) => {
  self.postMessage(placed(data));
});
