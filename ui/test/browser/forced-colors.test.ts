import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { aRun, aSpan, hex, settled, useStage } from './stage.ts';

const id = hex(16);
const usage = { input_tokens: 1200, output_tokens: 300 };
const stage = useStage({ own: true }, async ({ ingest }) => {
  const root = hex(8);
  await ingest({
    spans: [
      aSpan({ trace_id: id, span_id: root, name: 'answer_ticket', kind: 'agent_run', to: 900 }),
      aSpan({ trace_id: id, parent_span_id: root, name: 'find_order', kind: 'tool_call', from: 10, to: 400 }),
      aSpan({
        trace_id: id,
        parent_span_id: root,
        name: 'ask',
        kind: 'model_generation',
        from: 420,
        to: 800,
        status: 'error',
        error: { message: 'no answer' },
      }),
      aRun({ agoSeconds: 60, model: 'gpt-4o-mini', usage }),
      aRun({ agoSeconds: 60, model: 'gpt-4o', usage }),
    ],
  });
});

const forced = async (path: string): Promise<Page> => {
  const page = await stage.open(path, { forcedColors: 'active', reducedMotion: 'reduce' });
  await settled(page);
  return page;
};

/** Hues of a canvas: its colours but black, white and grey. */
const huesOf = (canvas: Locator): Promise<number> =>
  canvas.evaluate((element) => {
    const { width, height } = element as HTMLCanvasElement;
    const { data } = (element as HTMLCanvasElement).getContext('2d')?.getImageData(0, 0, width, height) ?? { data: [] };
    const counts = new Map<string, number>();
    for (let at = 0; at < data.length; at += 4) {
      const [red = 0, green = 0, blue = 0, alpha = 0] = data.slice(at, at + 4);
      if (alpha === 255 && Math.max(red, green, blue) - Math.min(red, green, blue) > 40)
        counts.set(`${red} ${green} ${blue}`, (counts.get(`${red} ${green} ${blue}`) ?? 0) + 1);
    }
    // The blurred edges of text and lines are a few pixels of many colours.
    return [...counts.values()].filter((count) => count > 100).length;
  });

it('kinds and failures of a trace are told apart in the minimap where colours are forced, and what is found is underlined', async () => {
  const page = await forced(`/traces/${id}?view=waterfall&find=find_order`);
  await expect.poll(() => huesOf(page.getByRole('img', { name: /^Minimap/ }))).toBeGreaterThanOrEqual(2);
  const label = page.locator('[role="row"][data-match] [title="find_order"]');
  expect(await label.evaluate((element) => getComputedStyle(element).textDecorationLine)).toBe('underline');
});

it('so are the series of a chart, also where colours are forced while it is seen', async () => {
  const page = await stage.open('/cost', { reducedMotion: 'reduce' });
  const canvas = page.getByRole('figure', { name: 'Cost over time' }).locator('canvas');
  await canvas.waitFor();
  await page.emulateMedia({ forcedColors: 'active' });
  await expect.poll(() => huesOf(canvas)).toBe(2);
});
