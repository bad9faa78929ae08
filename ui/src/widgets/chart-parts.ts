import type { Aligned } from '../model/series.ts';
import { OTHERS } from '../model/series.ts';

export type Line = { readonly value: number; readonly name: string; readonly color: string };

export type ChartProps = {
  readonly aligned: Aligned;
  /** Bars are stacked: what they show adds up. */
  readonly look: 'bars' | 'line';
  readonly format: (value: number | null | undefined) => string;
  /** Horizontal lines: thresholds. */
  readonly lines?: readonly Line[];
  readonly isLog?: boolean;
  /** Called with the index of the time under the pointer. */
  readonly onHover?: (index: number | undefined) => void;
  readonly onPick?: ((index: number) => void) | undefined;
};

/** Hues of span kinds, which hold their contrast on both papers. */
const HUES = ['kind-tool', 'kind-model', 'kind-retrieval', 'kind-guardrail', 'kind-scorer', 'kind-http', 'kind-agent'];

/** So many series are drawn by themselves. */
export const MOST_SERIES = HUES.length;

export const colorOfSeries = (index: number, name: string): string =>
  `var(--${name === OTHERS ? 'kind-generic' : (HUES[index % HUES.length] ?? 'kind-generic')})`;
