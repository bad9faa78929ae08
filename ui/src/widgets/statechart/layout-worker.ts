import type { Chart } from '../../model/statechart.ts';
import { layoutInRoom } from '../../model/statechart-layout.ts';

/** What is to be placed, and the answer: the same as `layoutInRoom` gives. */
export type LayoutRequest = {
  readonly chart: Chart;
  readonly opened: ReadonlySet<string>;
  readonly room: { readonly width: number; readonly height: number };
};

/** A large chart takes hundreds of milliseconds to place; the page goes on meanwhile. */
self.addEventListener('message', ({ data }: MessageEvent<LayoutRequest>) => {
  self.postMessage(layoutInRoom(data.chart, data.opened, data.room));
});
