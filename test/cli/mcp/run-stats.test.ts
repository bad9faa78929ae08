import { describe, expect, it } from 'vitest';
import { runStats, runStatsInput } from '../../../src/cli/mcp/run-stats.ts';
import { aService } from './a-service.ts';

const ask = (report: object, args: object = {}): Promise<string> =>
  runStats(aService({ '/v1/api/analytics/summary': report }).client, {}, runStatsInput({}).parse(args));

const totals = (fields: object) => ({
  ...{ trace_count: 0, error_count: 0, cancelled_count: 0, input_tokens: 0, output_tokens: 0, currency: 'USD' },
  ...fields,
});

describe('run_stats', () => {
  it.each([
    [{ trace_count: 4, error_count: 1, error_rate: 0.25 }, '4 traces, 1 failed (25.0%), no cost'],
    [
      { trace_count: 6, error_count: 1, error_rate: 0.25, cancelled_count: 2 },
      '6 traces, 1 failed (25.0%), 2 cancelled, no cost',
    ],
    [{ trace_count: 2, cancelled_count: 2 }, '2 traces, none failed, 2 cancelled, no cost'],
    [{}, '0 traces, none failed, no cost'],
  ])('a cancelled run is counted apart, and in no share: %j', async (figures, text) => {
    expect(await ask(totals(figures))).toContain(`the last 24 hours: ${text}`);
  });

  it('each model has its own cost and tokens, with the ids beneath by which it was called', async () => {
    const text = await ask(
      totals({
        ...{ trace_count: 3, error_rate: 0, total_cost: 3 },
        groups: [
          totals({
            ...{ key: 'gpt-4o-mini', trace_count: 2, error_rate: 0, total_cost: 2, input_tokens: 30 },
            models: [
              { model: 'gpt-4o-mini-2024-07-18', count: 4, total_cost: 2 },
              { model: 'gpt-4o-mini', count: 1 },
            ],
          }),
          totals({ key: 'own-7b', trace_count: 1, error_rate: 0, input_tokens: 7 }),
        ],
      }),
      { group_by: 'model' },
    );
    expect(text.split('\n').slice(3)).toEqual([
      'by model: (a trace is in each group that it called; cost and tokens are those of the calls)',
      expect.stringMatching(
        /^gpt-4o-mini +2 traces +0 failed \(0\.0%\) +\$2\.00 +30 in, 0 out tokens +nothing has ended$/,
      ),
      '  as gpt-4o-mini-2024-07-18: 4 calls, $2.00',
      '  as gpt-4o-mini: 1 call, no cost',
      expect.stringMatching(/^own-7b +1 trace +0 failed \(0\.0%\) +no cost +7 in, 0 out tokens/),
    ]);
  });

  it('of many ids the first ten are named', async () => {
    const models = Array.from({ length: 12 }, (_, n) => ({ model: `p${n}/gpt-4o`, count: 1 }));
    const text = await ask(totals({ groups: [totals({ key: 'gpt-4o', models })] }), { group_by: 'model' });
    expect(text).toContain('  as p9/gpt-4o: 1 call, no cost\n  and 2 more ids');
    expect(text).not.toContain('p10/');
  });
});
