import { beforeAll, describe, expect, it } from 'vitest';
import { aSpan, findBrowser, hex, instant, useStage } from './stage.ts';

const stage = useStage();

describe('a trace that is taken along', () => {
  const trace = hex(16);
  const root = hex(8);
  const correlation = { project: 'along', session_id: 's-1', tags: ['vip'] };
  const post = async (body: string, type: string): Promise<unknown> => {
    const response = await fetch(new URL('/v1/ingest', stage.url), {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    });
    return response.json();
  };
  /** All of it as the API writes it, but for the times at which it arrived. */
  const read = async (): Promise<string> => {
    const texts = await Promise.all(
      [`/v1/api/traces/${trace}?include=all`, `/v1/api/aspect_notes?project=along&trace_id=${trace}`].map(
        async (path) => (await fetch(new URL(path, stage.url))).text(),
      ),
    );
    return texts.join('\n').replaceAll(/"received_at":"[^"]*"/g, '"received_at":""');
  };
  const calls = [0, 1, 2].map((at) =>
    aSpan({
      trace_id: trace,
      parent_span_id: root,
      name: 'lookup',
      kind: 'tool_call',
      from: at * 10,
      input: at === 1 ? { b: 2, a: 'refund' } : { a: 'refund', b: 2 },
      output: '``` & "quotes" \\ ]}',
      correlation,
    }),
  );
  beforeAll(async () => {
    if (findBrowser() === undefined) return;
    const whole = {
      spans: [
        aSpan({
          trace_id: trace,
          span_id: root,
          name: 'agent',
          kind: 'agent_run',
          from: 0,
          to: 500,
          start_time: instant(0).replace('Z', '123456Z'),
          status: 'error',
          error: { message: 'gave up', type: 'E', stack: 'at x' },
          attributes: { big: 'BIG', deep: { list: [1.5, null, true] } },
          usage: { input_tokens: 4_503_599_627_370_497 },
          cost: { total_cost: 0.1, currency: 'EUR' },
          events: [{ name: 'e', time: instant(5), attributes: { n: 1 } }],
          links: [{ trace_id: hex(16), span_id: hex(8), attributes: {} }],
          correlation,
        }),
        ...calls,
      ],
      logs: [
        {
          trace_id: trace,
          span_id: root,
          timestamp: instant(1),
          message: 'began',
          attributes: { n: 'BIG' },
          correlation,
        },
      ],
      scores: [{ trace_id: trace, scorer_id: 'judge', value: 0.1, timestamp: instant(9), correlation }],
      feedback: [{ trace_id: trace, kind: 'thumbs', value: 'down', timestamp: instant(9), correlation }],
      aspect_notes: [{ trace_id: trace, aspect: 'tone', text: 'curt', timestamp: instant(9), correlation }],
    };
    const sent = JSON.stringify(whole).replaceAll('"BIG"', '9223372036854775807');
    const { rejected } = (await post(sent, 'application/json')) as { rejected?: number };
    if (rejected !== 0) throw new Error('ingest refused a signal of this test');
  });

  it('is downloaded as NDJSON; deleted, and ingested from that file, it is the same to the last digit', async () => {
    const before = await read();
    expect(before).toContain('9223372036854775807');
    const page = await stage.open(`/traces/${trace}?project=along`);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download NDJSON' }).click(),
    ]);
    expect(file.suggestedFilename()).toBe(`${trace}.ndjson`);
    const chunks: Buffer[] = [];
    for await (const chunk of await file.createReadStream()) chunks.push(chunk as Buffer);
    const lines = Buffer.concat(chunks).toString();
    await fetch(new URL(`/v1/api/traces/${trace}`, stage.url), { method: 'DELETE' });
    expect((await fetch(new URL(`/v1/api/traces/${trace}`, stage.url))).status).toBe(404);
    expect(await post(lines, 'application/x-ndjson')).toMatchObject({ accepted: 8, rejected: 0, errors: [] });
    expect(await read()).toBe(before);
  });

  it('says that one tool was called three times with the same input, and leads to each call', async () => {
    const page = await stage.open(`/traces/${trace}?project=along`);
    const notices = page.getByRole('region', { name: 'Notices' });
    await notices.getByText('was called 3 times with the same input').waitFor();
    await notices.getByRole('button', { name: 'Show call 2 of lookup' }).click();
    await expect.poll(() => new URL(page.url() ?? '').searchParams.get('span')).toBe(calls[1]?.span_id);
  });

  it('is Markdown for an assistant, within a number of tokens', async () => {
    const page = await stage.open(`/traces/${trace}?project=along`);
    await page.getByRole('button', { name: 'Copy for an assistant…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Copy for an assistant' });
    const markdown = dialog.getByRole('region', { name: 'Markdown' });
    await expect.poll(() => markdown.textContent()).toContain('# Trace agent');
    const text = (await markdown.textContent()) ?? '';
    for (const piece of ['gave up', '**failed** agent', '````text', '"refund"']) expect(text).toContain(piece);
    await dialog.getByRole('combobox', { name: 'What' }).selectOption('span');
    await expect.poll(() => markdown.textContent()).toContain('# Span of the trace agent');
    await dialog.getByText('Nothing was cut').waitFor();
  });
});
