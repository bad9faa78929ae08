import { describe, expect, it } from 'vitest';
import type { components } from '../../src/api/types.ts';
import { estimateTokens } from '../../src/model/brief.ts';
import { writeRunBrief } from '../../src/model/run-brief.ts';

type RunDetail = components['schemas']['RunDetail'];
type Entry = components['schemas']['JournalEntry'];
const AT = '2026-11-20T09:00:00Z';

const aRun = (more: Partial<RunDetail> = {}): RunDetail => ({
  run_id: 'r-1',
  trace_id: 't',
  project: 'p',
  definition_id: 'refund',
  definition_version: 2,
  status: 'failed',
  correlation: {},
  usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
  step_count: 1,
  priority: 0,
  created_at: AT,
  updated_at: AT,
  ended_at: '2026-11-20T09:00:03Z',
  input: { ticket: 't-1' },
  state: { amount: 40 },
  error: { class: 'fatal', message: 'the bank said no', step_id: 'pay' },
  attempts: [
    {
      lease_id: 'l',
      step_id: 'pay',
      visit: 1,
      attempt: 1,
      status: 'failed',
      worker_id: 'w',
      offered_at: AT,
      span_id: '0'.repeat(16),
      error: { class: 'fatal', message: 'the bank said no' },
    },
  ],
  timers: [],
  waits: [],
  children: [],
  ...more,
});
const entries = (count: number): Entry[] =>
  Array.from({ length: count }, (_, seq) => ({
    seq,
    kind: seq === 0 ? 'cursor.moved' : 'step.started',
    at: AT,
    step_id: 'pay',
    visit: 1,
    data: {},
  }));

describe('a run as Markdown', () => {
  it('says where it stands, its steps, its error, its payloads and its journal', () => {
    const { text, tokens, cut } = writeRunBrief(aRun(), entries(2), 0, 2000);
    expect(cut).toEqual([]);
    expect(tokens).toBe(estimateTokens(text));
    for (const part of [
      '# Run of refund\n',
      '- status: failed\n',
      '- cost: not priced\n',
      '- error: fatal at pay',
      '## Steps\n\n- **failed** pay: 3 s: the bank said no\n',
      '## Error\n\n```text\nthe bank said no\n```',
      '## Input\n\n```json\n{\n "ticket": "t-1"\n}\n```',
      '## Journal\n\n- 0 2026-11-20T09:00:00Z cursor.moved pay\n- 1',
    ])
      expect(text).toContain(part);
  });

  it('is never longer than the budget, whatever the run holds, and says what was left out', () => {
    const huge = aRun({ input: 'x'.repeat(1e6), state: { note: '`'.repeat(9000) }, definition_id: 'd'.repeat(5000) });
    for (const budget of [300, 2000, 8000]) {
      const { text, tokens, cut } = writeRunBrief(huge, entries(3000), 0, budget);
      expect(tokens).toBeLessThanOrEqual(budget);
      expect(estimateTokens(text)).toBe(tokens);
      expect(cut.length).toBeGreaterThan(0);
      expect(text).toContain('## Left out to fit');
    }
  });

  it('keeps the end of a long journal, and a text of a client inside its block', () => {
    const run = aRun({ input: '```\n# Not a heading' });
    const { text, cut } = writeRunBrief(run, entries(500), 0, 2000);
    expect(text).toContain('````text\n```\n# Not a heading\n````');
    expect(text).toContain('- 499 2026');
    expect(text).not.toContain('- 0 2026');
    expect(cut.join()).toMatch(/the journal: the last \d+ of 500/);
  });
});
