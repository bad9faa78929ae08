import { count } from '../format.ts';

export type Progress = {
  /** So many rows of a kind are moved. */
  readonly moved: (kind: string, done: number, of: number) => void;
  /** Leaves the line that is drawn, before anything else is printed. */
  readonly end: () => void;
};

export type ProgressIo = {
  readonly out: (text: string) => void;
  /** Whether a line may be drawn over. */
  readonly isTerminal: boolean;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
};

const BAR = 24;
/** How often a line is drawn over on a terminal, and how often one is added elsewhere, in milliseconds. */
const REDRAW_MS = 100;
const LINE_MS = 10_000;
const KIND_WIDTH = 14;

/** Shows how far a move is: a bar that is drawn over on a terminal, a line now and then elsewhere. */
export const createProgress = ({ out, isTerminal, now }: ProgressIo): Progress => {
  let shownAt = Number.NEGATIVE_INFINITY;
  let current: { readonly kind: string; readonly startedAt: number } | undefined;
  let isDrawn = false;
  const end = (): void => {
    if (isDrawn) out('\n');
    isDrawn = false;
  };
  return {
    moved: (kind, done, of) => {
      if (of === 0) return;
      const at = now();
      if (current?.kind !== kind) {
        end();
        current = { kind, startedAt: at };
        shownAt = at;
        if (!isTerminal) return;
      }
      const isOver = done >= of;
      if (!isOver && at - shownAt < (isTerminal ? REDRAW_MS : LINE_MS)) return;
      shownAt = at;
      const share = Math.min(1, done / of);
      const seconds = (at - current.startedAt) / 1000;
      const speed = seconds > 0 && done > 0 ? `  ${count(Math.round(done / seconds))}/s` : '';
      const numbers = `${String(Math.floor(share * 100)).padStart(3)} %  ${count(done)} of ${count(of)}${speed}`;
      if (isTerminal) {
        const full = Math.round(share * BAR);
        out(`\r\u001b[K${kind.padEnd(KIND_WIDTH)}[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${numbers}`);
        isDrawn = true;
      } else out(`${kind.padEnd(KIND_WIDTH)}${numbers}\n`);
    },
    end,
  };
};
