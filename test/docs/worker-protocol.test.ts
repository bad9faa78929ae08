import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AnyTransitionConfig } from 'xstate';
import { leaseMachine } from '../../src/machines/lease.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'worker-protocol.md'), 'utf8');

const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map((match) => match[1] ?? '');

/** Every arrow between two states of the lease machine, itself included where an event keeps it in its state. */
const arrowsOfMachine = (): Set<string> => {
  const arrows = new Set<string>();
  for (const [state, node] of Object.entries(leaseMachine.config.states ?? {})) {
    for (const [event, configured] of Object.entries(node.on ?? {})) {
      for (const transition of [configured].flat() as (AnyTransitionConfig | string)[]) {
        const target = typeof transition === 'string' ? transition : (transition.target ?? state);
        arrows.add(`${state} ${String(target)} ${event}`);
      }
    }
  }
  return arrows;
};

describe('the page for authors of workers', () => {
  it('draws the states of a lease as the machine has them', () => {
    const [diagram = ''] = blocks('mermaid');
    const drawn = new Set(
      [...diagram.matchAll(/^ {2}(\w+|\[\*\]) --> (\w+|\[\*\])/gm)]
        .map(([, from, to]) => `${from === '[*]' ? 'unissued' : from} ${to}`)
        .filter((arrow) => !arrow.endsWith('[*]')),
    );
    const quiet = new Set(['offered offered', 'offered unservable', 'orphaned unservable']);
    const real = new Set([...arrowsOfMachine()].map((arrow) => arrow.split(' ').slice(0, 2).join(' ')));
    expect(real.size).toBeGreaterThan(5);
    for (const arrow of drawn) expect([arrow, real.has(arrow)]).toEqual([arrow, true]);
    for (const arrow of real) expect([arrow, drawn.has(arrow) || quiet.has(arrow)]).toEqual([arrow, true]);
  });

  it('ends every state that the machine ends', () => {
    const [diagram = ''] = blocks('mermaid');
    const ends = [...diagram.matchAll(/^ {2}(\w+) --> \[\*\]$/gm)].map(([, state]) => state);
    const finals = Object.entries(leaseMachine.config.states ?? {}).flatMap(([name, node]) =>
      node.type === 'final' ? [name] : [],
    );
    expect(new Set(ends)).toEqual(new Set(finals));
  });

  it('links to headings that are there', () => {
    const headings = new Set(
      [...page.matchAll(/^#+ (.+)$/gm)].map(
        ([, title = '']) =>
          `#${title
            .toLowerCase()
            .replace(/[^a-z0-9 -]/g, '')
            .replaceAll(' ', '-')}`,
      ),
    );
    for (const [, link = ''] of page.matchAll(/\]\((#[^)]+)\)/g))
      expect([link, headings.has(link)]).toEqual([link, true]);
  });
});
