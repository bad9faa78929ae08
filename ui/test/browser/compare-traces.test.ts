import { beforeAll, describe, expect, it } from 'vitest';
import { aSpan, findBrowser, hex, useStage } from './stage.ts';

const stage = useStage();

describe('two traces', () => {
  const good = hex(16);
  const bad = hex(16);
  const correlation = { project: 'two' };
  beforeAll(async () => {
    if (findBrowser() === undefined) return;
    const aRun = (trace_id: string, from: number, output: string, isBad: boolean): object[] => {
      const root = hex(8);
      const status = isBad ? 'error' : 'ok';
      return [
        aSpan({ trace_id, span_id: root, name: 'refund', from, to: from + 100, status, correlation }),
        aSpan({ trace_id, parent_span_id: root, name: 'ask', from, to: from + (isBad ? 90 : 10), output, correlation }),
        aSpan({ trace_id, parent_span_id: root, name: isBad ? 'retry' : 'pay', from: from + 95, correlation }),
      ];
    };
    await stage.ingest({
      spans: [
        ...aRun(hex(16), 0, 'older', false),
        ...aRun(good, 1000, 'it was sent on Tuesday', false),
        ...aRun(bad, 2000, 'it was <b>never</b> sent on Tuesday', true),
        ...aRun(hex(16), 3000, 'later', false),
      ],
    });
  });

  it('are compared with the latest good one before, aligned by names, their outputs word by word', async () => {
    const page = await stage.open(`/traces/${bad}?project=two`);
    await page.getByRole('link', { name: 'Compare…' }).click();
    await page.getByRole('button', { name: 'Compare with it' }).click();
    await expect
      .poll(() => {
        const { pathname, searchParams } = new URL(page.url() ?? '');
        return [pathname, searchParams.get('a'), searchParams.get('b')];
      })
      .toEqual(['/traces/compare', good, bad]);
    const table = page.getByRole('table', { name: 'Comparison' });
    await table.getByText('retry').waitFor();
    const lines = await table
      .getByRole('row')
      .evaluateAll((rows) => rows.slice(1).map((row) => [...row.children].slice(0, 2).map((cell) => cell.textContent)));
    expect(lines).toEqual([
      ['refund', 'status'],
      ['ask', 'slower'],
      ['retry', 'only in B'],
      ['pay', 'only in A'],
    ]);
    await table.getByText('ask').click();
    const difference = page.getByRole('region', { name: 'Difference' });
    await difference.locator('ins').first().waitFor();
    expect(await difference.locator('ins').allTextContents()).toEqual(['<b>never</b> ']);
    await page.getByRole('combobox', { name: 'Only' }).selectOption('only in B');
    await table.getByText('pay').waitFor({ state: 'detached' });
  });
});
