import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { aSpan, findBrowser, hex, instant, useStage } from './stage.ts';

const stage = useStage();

const idsIn = async (shown: Page): Promise<string[]> =>
  shown
    .getByRole('table', { name: 'Traces' })
    .getByRole('row')
    .getByRole('link')
    .evaluateAll((links) =>
      links.map((link) => new URL((link as HTMLAnchorElement).href).pathname.split('/').at(-1) ?? ''),
    );

/** What the page asked of the list of traces. */
const listCalls = (shown: Page): URL[] => {
  const calls: URL[] = [];
  shown.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname === '/v1/api/traces') calls.push(url);
  });
  return calls;
};

describe('the list of traces', () => {
  const project = 'list';
  const wanted: string[] = [];
  const correlation = { project };
  const aMatch = (from: number): { spans: object[]; scores: object[]; id: string } => {
    const id = hex(16);
    return {
      id,
      spans: [
        aSpan({
          trace_id: id,
          name: 'wanted',
          kind: 'model_generation',
          from,
          status: 'error',
          error: { message: 'no' },
          input: 'please refund me',
          cost: { total_cost: 0.5, currency: 'USD' },
          correlation,
        }),
      ],
      scores: [
        {
          trace_id: id,
          scorer_id: 'helpfulness',
          value: 0.2,
          min: 0,
          max: 1,
          source: 'offline',
          timestamp: instant(from),
          correlation,
        },
      ],
    };
  };

  beforeAll(async () => {
    if (findBrowser() === undefined) return;
    const spans: object[] = [];
    const scores: object[] = [];
    for (let at = 0; at < 500; at += 1) {
      if (at % 25 === 0) {
        const match = aMatch(at * 100);
        wanted.unshift(match.id);
        spans.push(...match.spans);
        scores.push(...match.scores);
        continue;
      }
      // Each misses one of the filters.
      const id = hex(16);
      const misses = at % 4;
      spans.push(
        aSpan({
          trace_id: id,
          name: 'other',
          kind: 'model_generation',
          from: at * 100,
          status: misses === 0 ? 'ok' : 'error',
          input: misses === 1 ? 'another matter' : 'please refund me',
          cost: { total_cost: misses === 2 ? 0.01 : 0.5, currency: 'USD' },
          correlation,
        }),
      );
      scores.push({
        trace_id: id,
        scorer_id: 'helpfulness',
        value: misses === 3 ? 0.9 : 0.2,
        min: 0,
        max: 1,
        source: 'offline',
        timestamp: instant(0),
        correlation,
      });
    }
    await stage.ingest({ spans, scores });
  });

  const address = `/traces?project=${project}&q=refund&status=error&has_score=helpfulness&score_below=0.5&min_cost=0.1`;

  it('1: filters set by hand stand in the address and in the call under the same names; a reload and another person see the same rows', async () => {
    const page = await stage.open(`/traces?project=${project}`);
    const calls = listCalls(page);
    const filters = page.getByRole('group', { name: 'Filters' });
    await filters.getByRole('searchbox', { name: 'Search' }).fill('refund');
    await filters.getByRole('searchbox', { name: 'Search' }).press('Enter');
    for (const [name, value] of [
      ['status', 'error'],
      ['has_score', 'helpfulness'],
      ['score_below', '0.5'],
      ['min_cost', '0.1'],
    ] as const) {
      await filters.getByRole('combobox', { name: 'Filter by' }).selectOption(name);
      await filters.getByLabel('Value').fill(value);
      await filters.getByRole('button', { name: 'Add filter' }).click();
      await filters.getByRole('button', { name: `Remove filter ${name}` }).waitFor();
    }
    await page.getByText(`${wanted.length} traces shown`).waitFor();
    expect(await idsIn(page)).toEqual(wanted);

    await page.getByRole('columnheader', { name: 'Duration' }).getByRole('button').click();
    await page.waitForURL(/sort=duration/);
    await page.getByText(`${wanted.length} traces shown`).waitFor();
    const { searchParams } = new URL(page.url());
    const expected = Object.fromEntries(searchParams);
    await expect
      .poll(() => {
        const { limit: _limit, order: _order, ...asked } = Object.fromEntries(calls.at(-1)?.searchParams ?? []);
        return asked;
      })
      .toEqual(expected);
    expect(expected).toEqual({
      project,
      q: 'refund',
      status: 'error',
      has_score: 'helpfulness',
      score_below: '0.5',
      min_cost: '0.1',
      sort: 'duration',
    });

    const before = await idsIn(page);
    await page.reload();
    await page.getByText(`${wanted.length} traces shown`).waitFor();
    expect(await idsIn(page)).toEqual(before);
    const other = await stage.open(page.url());
    await other.getByText(`${wanted.length} traces shown`).waitFor();
    expect(await idsIn(other)).toEqual(before);
  });

  it('1: j and k walk the filtered rows in their order, beside an open peek panel', async () => {
    const page = await stage.open(address);
    await page.getByText(`${wanted.length} traces shown`).waitFor();
    const visited: (string | null)[] = [];
    for (const key of ['j', 'j', 'j', 'k']) {
      await page.keyboard.press(key);
      await page.getByRole('region', { name: 'Peek' }).waitFor();
      visited.push(new URL(page.url()).searchParams.get('peek'));
    }
    expect(visited).toEqual([wanted[0], wanted[1], wanted[2], wanted[1]]);
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/traces/${wanted[1]}`));
    expect(new URL(page.url()).searchParams.get('project')).toBe(project);
  });

  it('1: a match that arrives while somebody reads waits behind "1 new" and moves nothing', async () => {
    const page = await stage.open(address);
    await page.getByText(`${wanted.length} traces shown`).waitFor();
    await page.keyboard.press('j');
    await page.getByRole('region', { name: 'Peek' }).waitFor();
    const before = await idsIn(page);
    const match = aMatch(60_000);
    await stage.ingest({ spans: match.spans, scores: match.scores });
    const pill = page.getByRole('button', { name: '1 new' });
    await pill.waitFor();
    expect(await idsIn(page)).toEqual(before);
    await pill.click();
    await expect.poll(() => idsIn(page)).toEqual([match.id, ...wanted]);
  });

  it('names the filters that leave nothing, and takes them off', async () => {
    const page = await stage.open(`/traces?project=${project}&user_id=nobody&status=error`);
    await page.getByText('No trace matches').waitFor();
    await page.getByRole('button', { name: 'Remove filter user_id' }).click();
    await page.getByRole('table', { name: 'Traces' }).waitFor();
    expect(new URL(page.url()).search).toBe(`?project=${project}&status=error`);
  });
});
