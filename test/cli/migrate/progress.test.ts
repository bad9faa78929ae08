import { describe, expect, it } from 'vitest';
import { createProgress } from '../../../src/cli/migrate/progress.ts';

const shown = (
  isTerminal: boolean,
  steps: (at: (ms: number) => void, moved: (done: number) => void) => void,
): string => {
  let text = '';
  let ms = 0;
  const progress = createProgress({ out: (more) => void (text += more), isTerminal, now: () => ms });
  steps(
    (at) => (ms = at),
    (done) => progress.moved('spans', done, 200),
  );
  progress.end();
  return text;
};

describe('the progress of a move', () => {
  it('is a bar that is drawn over on a terminal, ten times a second at the most', () => {
    const text = shown(true, (at, moved) => {
      moved(0);
      at(50);
      moved(10);
      at(1_000);
      moved(100);
      at(1_001);
      moved(200);
    });
    expect(text.split('\r\u001b[K')).toEqual([
      '',
      'spans         [############............]  50 %  100 of 200  100/s',
      'spans         [########################] 100 %  200 of 200  200/s\n',
    ]);
  });

  it('is a line each ten seconds elsewhere, and one when a kind is over', () => {
    const text = shown(false, (at, moved) => {
      moved(0);
      at(9_999);
      moved(50);
      at(10_000);
      moved(100);
      at(12_000);
      moved(200);
    });
    expect(text).toBe('spans          50 %  100 of 200  10/s\nspans         100 %  200 of 200  17/s\n');
  });

  it('shows nothing of a kind that there is none of', () => {
    const lines: string[] = [];
    const progress = createProgress({ out: (text) => void lines.push(text), isTerminal: true, now: () => 0 });
    progress.moved('logs', 0, 0);
    progress.end();
    expect(lines).toEqual([]);
  });
});
