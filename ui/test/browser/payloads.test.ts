import { beforeAll, describe, expect, it } from 'vitest';
import { aSpan, downloadedBy, findBrowser, hex, useStage } from './stage.ts';

const stage = useStage();

describe('payloads of strangers', () => {
  const trace = hex(16);
  const hostile =
    '<img src=x onerror=alert(1)><script>alert(2)</script> [click](javascript:alert(3)) ![beacon](https://evil.example/b.png)';
  const huge = `${'0123456789abcdef'.repeat(65_536).repeat(5)}€`;
  const bidi = 'safe\u202Egnp.exe\u0007\u0000';
  beforeAll(async () => {
    if (findBrowser() === undefined) return;
    const correlation = { project: 'hostile', user_id: hostile, session_id: hostile };
    const root = hex(8);
    await stage.ingest({
      spans: [
        aSpan({
          trace_id: trace,
          span_id: root,
          name: hostile,
          kind: 'agent_run',
          input: [{ role: 'user', content: hostile }],
          output: hostile,
          status: 'error',
          error: { message: hostile, type: hostile, stack: hostile },
          attributes: { [hostile]: hostile },
          correlation,
        }),
        aSpan({ trace_id: trace, parent_span_id: root, name: 'huge', input: huge, correlation }),
        aSpan({
          trace_id: trace,
          parent_span_id: root,
          name: bidi,
          kind: 'model_generation',
          model: hostile,
          input: { markup: hostile },
          correlation,
        }),
      ],
    });
  });

  it('3: are shown as they are, run nothing, load nothing, and name nothing that is followed', async () => {
    const page = await stage.open(`/traces/${trace}?project=hostile&view=waterfall`);
    const inspector = page.getByRole('region', { name: 'Span' });
    for (const tab of ['Conversation', 'Input', 'Output', 'Attributes', 'JSON', 'Error']) {
      await inspector.getByRole('tab', { name: tab }).click();
      await expect.poll(() => inspector.textContent()).toContain('<img src=x onerror=');
    }
    for (const view of ['Tree', 'Transcript', 'Waterfall']) {
      await page.getByRole('button', { name: view, exact: true }).click();
      await expect.poll(() => page.locator('main').textContent()).toContain('<img src=x onerror=');
    }
    await page.goto(new URL('/traces?project=hostile', stage.url).href);
    await page.getByRole('table', { name: 'Traces' }).getByText('<img src=x').first().waitFor();
    expect(await page.locator('img, iframe, object, embed, a[href^="javascript"], a[href^="http"]').count()).toBe(0);
  });

  it('3: five megabytes are shown by their head, and downloaded to the byte', async () => {
    const page = await stage.open(`/traces/${trace}?project=hostile&view=waterfall`);
    await page.getByRole('treegrid', { name: 'Spans' }).getByText('huge').click();
    const inspector = page.getByRole('region', { name: 'Span' });
    await inspector.getByRole('tab', { name: 'Input' }).click();
    await inspector.getByText(/of text/).waitFor();
    expect((await inspector.textContent())?.length).toBeLessThan(20_000);
    const bytes = await downloadedBy(page, () => inspector.getByRole('button', { name: 'Download' }).click());
    expect(bytes.equals(Buffer.from(huge))).toBe(true);
  });
});
