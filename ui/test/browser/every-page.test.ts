import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { pages } from '../../src/pages/pages.ts';
import { seriousFindings, settled, useStage } from './stage.ts';

const examples = (name: string): string => fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url));

/** Filled as the README says. */
const stage = useStage(
  { config: JSON.parse(readFileSync(examples('seed.config.json'), 'utf8')) as object },
  async ({ url }) => {
    await promisify(execFile)(process.execPath, [examples('seed.ts')], {
      env: { ...process.env, NODE_ENV: 'production', SVC_ENDPOINT: url },
    });
  },
);

const firstOf = async (path: string, list: string, id: string): Promise<string> => {
  const rows = (await stage.get(path))[list] as Record<string, unknown>[];
  const found = rows[0]?.[id];
  if (typeof found !== 'string') throw new Error(`${path} has no ${list}`);
  return encodeURIComponent(found);
};
const failedTrace = (): Promise<string> =>
  firstOf('/v1/api/traces?name=answer_ticket&status=error&limit=1', 'traces', 'trace_id');
const goodTrace = (): Promise<string> =>
  firstOf('/v1/api/traces?name=answer_ticket&status=ok&limit=1', 'traces', 'trace_id');
const trace = async (): Promise<string> => `/traces/${await failedTrace()}`;
const runIn = async (status: string): Promise<string> =>
  `/runs/${await firstOf(`/v1/api/runs?status=${status}&definition_id=seed-refund&limit=1`, 'runs', 'run_id')}`;
/** Of an instrumentation of OpenTelemetry: its fields are read from attributes. */
const instrumented = (): Promise<string> => firstOf('/v1/api/traces?name=LangGraph&limit=1', 'traces', 'trace_id');
const parentRun = async (): Promise<string> =>
  `/runs/${await firstOf('/v1/api/runs?definition_id=seed-statement&limit=1', 'runs', 'run_id')}`;
const dataset = (): Promise<string> => firstOf('/v1/api/datasets', 'datasets', 'dataset_id');

/** A board of a list and a cost, made once more under the same ids. */
const board = async (): Promise<string> => {
  await stage.post('/v1/api/views', { view_id: 'failed', name: 'failed', path: '/traces?status=error' });
  await stage.post('/v1/api/views', { view_id: 'cost', name: 'cost', path: '/cost?group_by=model' });
  await stage.post('/v1/api/views', { view_id: 'both', name: 'both', views: ['failed', 'cost'] });
  return '/boards/both';
};

/** Where each page is seen with something on it. A page that is not here fails the first test. */
const addresses: Readonly<Record<string, readonly (string | (() => Promise<string>))[]>> = {
  '/': ['/'],
  '/traces': ['/traces', async () => `/traces?peek=${await failedTrace()}`, '/traces?name=nothing'],
  '/traces/$traceId': [
    trace,
    ...['tree', 'transcript', 'graph', 'context', 'logs'].map((view) => async () => `${await trace()}?view=${view}`),
    async () => `/traces/${await instrumented()}?view=waterfall&tab=mapping`,
    '/traces/00000000000000000000000000000001',
  ],
  '/traces/compare': [
    '/traces/compare',
    async () => `/traces/compare?a=${await failedTrace()}`,
    async () => `/traces/compare?a=${await goodTrace()}&b=${await failedTrace()}&row=1`,
  ],
  '/sessions': ['/sessions'],
  '/sessions/$sessionId': [async () => `/sessions/${await firstOf('/v1/api/sessions', 'sessions', 'session_id')}`],
  '/users': ['/users'],
  '/users/$userId': ['/users/ada'],
  '/cost': ['/cost', '/cost?group_by=user_id'],
  '/boards': [
    async () => {
      await board();
      return '/boards';
    },
  ],
  '/boards/$viewId': [board, '/boards/none'],
  '/scores': ['/scores', '/scores?view=feedback'],
  '/scorers': ['/scorers'],
  '/datasets': ['/datasets'],
  '/datasets/$datasetId': [async () => `/datasets/${await dataset()}`, '/datasets/none'],
  '/experiments': ['/experiments'],
  '/experiments/compare': [
    async () => {
      const id = await dataset();
      return `/experiments/compare?baseline=${id}-2.3.0&candidate=${id}-2.4.0&scorer=helpfulness`;
    },
  ],
  '/experiments/$experimentId': [async () => `/experiments/${await dataset()}-2.4.0`, '/experiments/none'],
  '/monitors': ['/monitors'],
  '/monitors/$id': ['/monitors/errors', '/monitors/none'],
  '/slos': ['/slos'],
  '/slos/$id': ['/slos/answered', '/slos/none'],
  '/runs': ['/runs', '/runs?waiting_on=event', '/runs?stalled=true'],
  '/runs/$runId': [
    () => runIn('failed'),
    ...['journal', 'state', 'waits', 'io'].map((tab) => async () => `${await runIn('waiting')}?tab=${tab}`),
    async () => `${await runIn('succeeded')}?seq=3&vs=1`,
    async () => `${await runIn('failed')}?tab=messages`,
    async () => `${await parentRun()}?tab=children`,
    '/runs/01a20000-0000-7000-8000-000000000000',
  ],
  '/runs/compare': [
    '/runs/compare',
    async () => `/runs/compare?a=${(await runIn('failed')).split('/')[2]}`,
    async () =>
      `/runs/compare?a=${(await runIn('failed')).split('/')[2]}&b=${(await runIn('succeeded')).split('/')[2]}&row=1+triage`,
  ],
  '/schedules': ['/schedules'],
  '/schedules/$id': [async () => `/schedules/${await firstOf('/v1/api/schedules', 'schedules', 'id')}`],
  '/keys': ['/keys', '/keys?waiting=true'],
  '/keys/$id': [
    async () => `/keys/${await firstOf('/v1/api/limits?waiting=true', 'limits', 'limit_id')}`,
    '/keys/none',
  ],
  '/workers': ['/workers'],
  '/definitions': ['/definitions', '/definitions?view=editor'],
  '/definitions/$id': ['/definitions/seed-refund'],
  '/actors': ['/actors'],
  '/actors/$type/$id': [async () => `/actors${(await runIn('waiting')).replace('/runs', '/run')}`],
  '/machines': ['/machines'],
  '/machines/$name': ['/machines/lease', '/machines/run%3Aseed-refund%401'],
  '/doctor': ['/doctor'],
  '/refusals': ['/refusals'],
  '/audit': ['/audit'],
  '/settings': ['/settings'],
};

/** A wide thing scrolls in its own box, never the page. @returns what stands out, at this width */
const tooWide = async (page: Page, width: number): Promise<string[]> => {
  await page.setViewportSize({ width, height: 640 });
  return page.evaluate((most) => {
    // The page has a box of its own, which would scroll before the document does.
    const found = Math.max(document.documentElement.scrollWidth, document.querySelector('main')?.scrollWidth ?? 0);
    return found > most ? [`${found} pixels wide at ${most}`] : [];
  }, width);
};

/** The browser takes keys in the order in which they are sent; nobody waits for each. */
const pressTab = async (page: Page, times: number): Promise<void> => {
  await Promise.all(Array.from({ length: times }, () => page.keyboard.press('Tab')));
};

/** Presses Tab from the beginning of the page; each stop must show that it has the focus. */
const unseenStops = async (page: Page, stops: number): Promise<string[]> => {
  await page.evaluate(() => {
    const unseen: string[] = [];
    Object.assign(window, { unseen });
    document.querySelector('main')?.focus();
    document.addEventListener('focusin', ({ target }) => {
      if (!(target instanceof Element)) return;
      const { outlineStyle, outlineWidth } = getComputedStyle(target);
      if (outlineStyle === 'none' || Number.parseFloat(outlineWidth) < 2) unseen.push(target.outerHTML.slice(0, 120));
    });
  });
  await pressTab(page, stops);
  return page.evaluate(() => (window as unknown as { unseen: string[] }).unseen.map((html) => `no focus: ${html}`));
};

/** Backgrounds are gone with forced colours: what is chosen must show it by a line. */
const unmarked = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('[aria-selected="true"], [aria-pressed="true"], [aria-current]')]
      .filter((chosen) => getComputedStyle(chosen).outlineStyle === 'none')
      .map((chosen) => chosen.outerHTML.slice(0, 120)),
  );

const moving = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    document
      .getAnimations()
      .filter(({ effect }) => Number(effect?.getComputedTiming().duration ?? 0) > 1)
      .map(({ effect }) => `moves: ${(effect as KeyframeEffect).target?.outerHTML.slice(0, 120)}`),
  );

/** Who goes down a column of a table hears the head of the column, and the head of each row. */
const headless = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('main table')]
      .filter(
        (table) =>
          table.querySelector('thead th[scope="col"]') === null ||
          [...table.querySelectorAll('tbody tr:not([aria-hidden])')].some(
            (row) => row.querySelector('[scope="row"], [role="rowheader"]') === null,
          ),
      )
      .map((table) => `no heads: ${table.getAttribute('aria-label')}`),
  );

/** Two frames: the colours of another theme reach what is on the page with the next one. */
const painted = (page: Page): Promise<void> =>
  page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        requestAnimationFrame(() => requestAnimationFrame(() => resolve()));
      }),
  );

const CONTRAST = ['color-contrast'];
const TAB_STOPS = 30;

/** All that is looked at on a page, or on a dialog of it. Only contrast depends on the theme. */
const faultsOf = async (page: Page): Promise<string[]> => {
  const named = (what: string, faults: readonly string[]): string[] => faults.map((fault) => `${what}: ${fault}`);
  const faults = [...named('light', await seriousFindings(page)), ...(await headless(page))];
  await page.emulateMedia({ colorScheme: 'dark' });
  await painted(page);
  faults.push(...named('dark', await seriousFindings(page, CONTRAST)));
  faults.push(...named('reduced motion', await moving(page)));
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active' });
  faults.push(...named('forced colours', await unmarked(page)));
  // 640 is 1280 at 200 %.
  faults.push(...(await tooWide(page, 640)), ...(await tooWide(page, 320)));
  return faults;
};

/** A page as somebody finds it who comes by its address. */
const lookAt = async (address: string | (() => Promise<string>)): Promise<Page> => {
  const where = typeof address === 'string' ? address : await address();
  return stage.visit(where, { reducedMotion: 'reduce' });
};

const cases = Object.entries(addresses).flatMap(([path, list]) =>
  list.map((address, at) => ({ path, address, name: typeof address === 'string' ? address : `${path} (${at + 1})` })),
);

describe('every page', () => {
  it('is looked at below', () => {
    expect(Object.keys(addresses).toSorted()).toEqual(pages.map(({ path }) => path).toSorted());
  });

  it.each(cases)(
    '$name has no serious finding of axe in any theme, shows its focus, moves nothing and fits 320 pixels',
    async ({ address }) => {
      const page = await lookAt(address);
      await settled(page);
      const unseen = await unseenStops(page, TAB_STOPS);
      expect([...unseen, ...(await faultsOf(page))]).toEqual([]);
    },
  );
});

it('the axis of a waterfall shows a time completely or not at all', async () => {
  const page = await lookAt(async () => `${await trace()}?view=waterfall`);
  await settled(page);
  const cut = (): Promise<string[]> =>
    page.evaluate(() => {
      const ticks = [...document.querySelectorAll('[class*="ticks"] > span')];
      const texts = ticks.map((tick) => {
        const range = document.createRange();
        range.selectNodeContents(tick);
        const text = range.getBoundingClientRect();
        const { right, bottom } = tick.parentElement?.getBoundingClientRect() ?? text;
        return { text: tick.textContent, isShown: text.top < bottom, isComplete: text.right <= right };
      });
      if (texts.filter(({ isShown }) => isShown).length < 2) return ['no time is shown'];
      return texts.flatMap(({ text, isShown, isComplete }) => (isShown && !isComplete ? [text] : []));
    });
  for (const width of [320, 1280, 2560]) {
    await page.setViewportSize({ width, height: 640 });
    expect(await cut()).toEqual([]);
  }
});

describe('the seed', () => {
  it('leaves no page of the rail empty', async () => {
    const empty: string[] = [];
    for (const { path, rail } of pages) {
      if (rail === undefined) continue;
      const page = await stage.visit(path);
      await settled(page);
      const titles = await page.locator('main h2').allTextContents();
      empty.push(...titles.filter((title) => /^No(?:thing|body)? /.test(title)).map((title) => `${path}: ${title}`));
    }
    expect(empty).toEqual([]);
  });

  it('has a run with children, a key that bounds a rate, and a trace whose fields were read from attributes', async () => {
    const page = await stage.visit(`${await parentRun()}?tab=children`);
    const children = page.getByRole('table', { name: 'Children' });
    await children.getByText('waiting').waitFor();
    expect(await children.getByRole('row').count()).toBe(4);
    await stage.visit('/keys');
    await page.getByText('at most 1 start in 1 h').waitFor();
    await stage.visit(`/traces/${await instrumented()}?view=waterfall&tab=mapping`);
    await page.getByRole('region', { name: 'Span' }).getByText('input.value').first().waitFor();
  });
});

describe('every dialog', () => {
  it.each<readonly [string, string | (() => Promise<string>), string]>([
    ['Key', '/settings', 'No key'],
    ['Command palette', '/settings', 'Command palette'],
    ['Save view', '/traces?status=error', 'Save view'],
    [
      'New board',
      async () => {
        await board();
        return '/boards';
      },
      'New board…',
    ],
    ['Erase ada', '/users/ada', 'Erase…'],
    ['Signal', () => runIn('waiting'), 'Signal'],
    ['Cancel run', () => runIn('waiting'), 'Cancel run'],
    ['Restart', () => runIn('failed'), 'Restart…'],
    ['Copy for an assistant', trace, 'Copy for an assistant…'],
    ['Copy for an assistant', () => runIn('failed'), 'Copy for an assistant…'],
    ['Act on all runs of the list', '/runs?waiting_on=event', 'Act on all…'],
  ])('%s has no serious finding, keeps the focus in it, and gives it back', async (name, address, button) => {
    const page = await lookAt(address);
    const opener = page.getByRole('button', { name: button, exact: true });
    await expect.poll(() => opener.isEnabled()).toBe(true);
    await opener.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name });
    await dialog.waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await pressTab(page, TAB_STOPS);
    expect(await dialog.evaluate((element) => element.contains(document.activeElement))).toBe(true);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await expect.poll(() => opener.evaluate((element) => element === document.activeElement)).toBe(true);
  });

  it('Keyboard is closed by a button too, and scrolls by keys where it is longer than a phone', async () => {
    const page = await lookAt('/traces');
    await settled(page);
    await page.setViewportSize({ width: 320, height: 640 });
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keyboard' });
    await dialog.waitFor();
    await dialog.getByText('Space', { exact: true }).waitFor();
    expect(await dialog.evaluate(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight)).toBe(true);
    expect(await seriousFindings(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'hidden' });
  });

  it.each(['light', 'dark'] as const)(
    'Save view: the button that cannot be pressed yet can be read, %s',
    async (colorScheme) => {
      const page = await lookAt('/traces?status=error');
      await settled(page);
      await page.emulateMedia({ colorScheme });
      await page.getByRole('button', { name: 'Save view', exact: true }).click();
      const save = page.getByRole('dialog', { name: 'Save view' }).getByRole('button', { name: 'Save', exact: true });
      expect(await save.isDisabled()).toBe(true);
      // What cannot be pressed is left out by axe.
      const [ink = 0, ground = 0] = await save.evaluate((element) => {
        const { color, backgroundColor } = getComputedStyle(element);
        return [color, backgroundColor].map((text) => {
          const [red = 0, green = 0, blue = 0] = (text.match(/[\d.]+/g) ?? []).map((channel) => {
            const share = Number(channel) / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
          });
          return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        });
      });
      expect((Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05)).toBeGreaterThan(4.5);
    },
  );
});
