/** Marks of a time axis at round distances. @returns nanoseconds, from the first at or after `from`; at most `most + 1` */
export const ticksOf = (from: number, to: number, most: number): number[] => {
  const span = to - from;
  if (!(span > 0) || most < 1) return [];
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
};

export type Zoom = { readonly from: number; readonly to: number };

/** The narrowest that is shown: below, the bars say nothing. */
const NARROWEST_NS = 1_000;

/** Holds a zoom inside of the trace, as wide as it is. */
export const withinTrace = ({ from, to }: Zoom, totalNs: number): Zoom => {
  const width = Math.min(Math.max(to - from, NARROWEST_NS), totalNs);
  const start = Math.min(Math.max(from, 0), totalNs - width);
  return { from: start, to: start + width };
};

/** @param factor below 1 comes closer @param at the time that stays where it is */
export const zoomed = ({ from, to }: Zoom, factor: number, at: number, totalNs: number): Zoom =>
  withinTrace({ from: at - (at - from) * factor, to: at + (to - at) * factor }, totalNs);

export const panned = ({ from, to }: Zoom, share: number, totalNs: number): Zoom => {
  const by = (to - from) * share;
  return withinTrace({ from: from + by, to: to + by }, totalNs);
};

/** `120-450.5`, in milliseconds from the start of the trace. */
export const parseZoom = (text: string): Zoom | undefined => {
  const [, from, to] = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (from === undefined || to === undefined || Number(to) <= Number(from)) return undefined;
  return { from: Number(from) * 1e6, to: Number(to) * 1e6 };
};

export const formatZoom = ({ from, to }: Zoom): string => {
  const ms = (ns: number): string => String(Number((ns / 1e6).toFixed(3)));
  return `${ms(from)}-${ms(to)}`;
};
