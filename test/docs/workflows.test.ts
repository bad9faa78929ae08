import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { conditionFunctions, parseCondition } from '../../src/model/definition/condition.ts';
import { definitionDefaults } from '../../src/model/definition/definition.ts';
import { templateRoots } from '../../src/model/definition/expression-scope.ts';
import { parseDefinition } from '../../src/model/definition/parse.ts';
import { reservedClasses } from '../../src/model/definition/step-error.ts';
import type { Json, JsonObject } from '../../src/model/json.ts';
import type { Lease } from '../../src/model/run.ts';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import definitionSchema from '../../spec/definition.schema.json' with { type: 'json' };
import { ALL, codeOf, createHarness, type Harness, must } from '../actors/run-harness.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'workflows.md'), 'utf8');

/** A row of a table "What happens | The run is then": what is done, and what is promised. */
type Row = { readonly does: string; readonly promises: string };
type Example = { readonly title: string; readonly definitions: readonly Json[]; readonly rows: readonly Row[] };

const examples: readonly Example[] = page
  .split(/^#{1,3} /m)
  .map((section) => ({
    title: section.split('\n', 1)[0] ?? '',
    definitions: [...section.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = '']) => JSON.parse(text) as Json),
    rows: [...(section.split('| What happens |')[1] ?? '').matchAll(/^\| (.+?) \| (.*?) ?\|.*\|$/gm)].map(
      ([, does = '', promises = '']) => ({ does, promises }),
    ),
  }))
  .filter(({ definitions, rows }) => definitions.length > 0 || rows.length > 0);

const json = (text: string | undefined): Json => JSON.parse(text ?? 'null') as Json;
const number = (text: string | undefined): number => Number((text ?? '').replaceAll(',', ''));

/** The run of the last start, and the task that a worker holds. */
type Stage = { readonly service: Harness; runId: string };

/** Takes the task at hand: it is the one that the page names, with the input that it tells. */
const take = async ({ service }: Stage, stepId: string | undefined, input?: string): Promise<Lease> => {
  const lease = await service.take();
  expect(lease.stepId).toBe(stepId);
  if (input !== undefined) expect(lease.input).toEqual(json(input));
  return lease;
};

type Parts = Readonly<Record<string, string | undefined>>;
const usageOf = (costs: string | undefined): object =>
  costs === undefined ? {} : { usage: [{ inputTokens: 1, outputTokens: 1, cost: Number(costs) }] };

/** What the sentences of a table mean. A sentence that none of them reads fails the test. */
const verbs: readonly (readonly [RegExp, (stage: Stage, parts: Parts) => Promise<void>])[] = [
  [
    /^Start `(?<id>[a-z]+)` with `(?<input>[^`]+)`(?:, correlation `(?<correlation>[^`]+)`)?\.$/,
    async (stage, { id = '', input, correlation }) => {
      const more = correlation === undefined ? {} : { correlation: json(correlation) };
      stage.runId = (await stage.service.start(id, json(input), more)).runId;
    },
  ],
  [
    /^Start `(?<id>[a-z]+)` with `(?<input>[^`]+)`: refused, `(?<code>\w+)`\.$/,
    async ({ service }, { id = '', input, code }) => {
      const started = await service.runs.startRun({ ...ALL, project: 'p', definitionId: id, input: json(input) });
      expect(codeOf(started)).toBe(code);
    },
  ],
  [
    /^Task `(?<step>\w+)`(?: gets `(?<input>[^`]+)`,)? gives `(?<output>[^`]+)`(?:, patches the state with `(?<patch>[^`]+)`)?(?:, costs `(?<costs>[\d.]+)` USD)?\.$/,
    async (stage, { step, input, output, patch, costs }) => {
      const lease = await take(stage, step, input);
      const statePatch = patch === undefined ? {} : { statePatch: json(patch) as JsonObject };
      must(await stage.service.complete(lease, json(output), { ...statePatch, ...usageOf(costs) }));
    },
  ],
  [
    /^Task `(?<step>\w+)`(?: gets `(?<input>[^`]+)`,)? fails: class `(?<errorClass>\w+)`(?:, code `(?<code>\w+)`)?(?:, retry after `(?<after>[\d,]+)` ms)?(?:, costs `(?<costs>[\d.]+)` USD)?\.$/,
    async (stage, { step, input, errorClass = '', code, after, costs }) => {
      const lease = await take(stage, step, input);
      must(
        await stage.service.runs.fail({
          ...ALL,
          leaseId: lease.leaseId,
          workerId: 'w1',
          error: { class: errorClass, message: 'it broke', ...(code === undefined ? {} : { code }) },
          ...(after === undefined ? {} : { retryAfterMs: number(after) }),
          ...usageOf(costs),
        }),
      );
    },
  ],
  [
    /^Task `(?<step>\w+)` is started, and hangs\.$/,
    async (stage, { step }) => {
      await take(stage, step);
    },
  ],
  [
    /^Task `(?<step>\w+)` is started, and its worker falls silent\.$/,
    async (stage, { step }) => {
      await take(stage, step);
      await stage.service.pass(36_000);
    },
  ],
  [
    /^Event `(?<event>\w+)`, key `(?<key>[^`]+)`, payload `(?<payload>[^`]+)`: `(?<outcome>\w+)`\.$/,
    async ({ service }, { event = '', key = '', payload, outcome }) => {
      const published = await service.runs.publishEvent({
        ...ALL,
        project: 'p',
        event,
        key,
        payload: json(payload),
      });
      expect(must(published).outcome).toBe(outcome);
    },
  ],
  [
    /^`(?<ms>[\d,]+)` ms pass\.$/,
    async ({ service }, { ms }) => {
      const left = number(ms);
      // A lease lives for 30 seconds without a heartbeat; only the last minute is looked at second by second.
      if (left > 60_000) service.time.advance(left - 60_000);
      await service.pass(Math.min(left, 60_000));
    },
  ],
  [
    /^The run is cancelled\.$/,
    async ({ service, runId }) => {
      must(await service.runs.cancelRun({ ...ALL, runId }));
    },
  ],
  [
    /^Nothing is left to take\.$/,
    async ({ service }) => {
      expect(await service.claim()).toEqual([]);
    },
  ],
];

const play = async (stage: Stage, { does, promises }: Row): Promise<void> => {
  const found = verbs.flatMap(([sentence, act]) => {
    const parts = sentence.exec(does)?.groups;
    return sentence.test(does) ? [{ act, parts: parts ?? {} }] : [];
  });
  expect([does, found.length]).toEqual([does, 1]);
  for (const { act, parts } of found) await act(stage, parts);
  if (promises === '') return;
  const told =
    /^`(?<status>\w+)`(?: at `(?<cursor>\w+)`)?(?:, class `(?<errorClass>\w+)`)?(?:, code `(?<code>\w+)`)?(?:, limit `(?<limit>\w+)`)?(?:, message `(?<message>.+)`)?(?:, output `(?<output>.+)`)?$/.exec(
      promises,
    )?.groups;
  expect([promises, told !== undefined]).toEqual([promises, true]);
  const { status, cursor, errorClass, code, limit, message, output } = told ?? {};
  const run = await stage.service.detail(stage.runId);
  const shown = { status: run.status, cursor: run.cursor, code: run.error?.code, limit: run.error?.limit };
  expect(shown).toEqual({ status, cursor, code, limit });
  if (errorClass !== undefined || status !== 'failed') expect(run.error?.class).toBe(errorClass);
  if (message !== undefined) expect(run.error?.message).toBe(message);
  if (output !== undefined) expect(run.output).toEqual(json(output));
};

describe('every example of the reference', () => {
  it('has its definitions and its table, and there are ten at least', () => {
    const whole = examples.filter(({ definitions, rows }) => definitions.length > 0 && rows.length > 1);
    expect(whole.length).toBeGreaterThanOrEqual(10);
    expect(whole).toHaveLength(examples.length);
    // Every code fence and every row of such a table belongs to one of them.
    expect(examples.flatMap(({ definitions }) => definitions)).toHaveLength([...page.matchAll(/^```json$/gm)].length);
    const rowsOfPage = [
      ...page.matchAll(/^\| (?:Start|Task|Event|The run is cancelled|Nothing is|`[\d,]+` ms pass)/gm),
    ];
    expect(examples.flatMap(({ rows }) => rows)).toHaveLength(rowsOfPage.length);
  });

  it.each(examples)('$title: goes as its table says', async ({ definitions, rows }) => {
    const service = await createHarness({ definitions, store: createMemoryRunStore() });
    const stage: Stage = { service, runId: '' };
    for (const row of rows) await play(stage, row);
    expect(service.faults).toEqual([]);
  });
});

describe('the reference', () => {
  it('the defaults that the schema tells are those of the code', () => {
    const { retry, task, wait_event, child, concurrency } = definitionSchema.$defs;
    expect({
      retry: {
        maxAttempts: retry.properties.max_attempts.default,
        backoffMs: retry.properties.backoff_ms.default,
        multiplier: retry.properties.multiplier.default,
        maxBackoffMs: retry.properties.max_backoff_ms.default,
        jitter: retry.properties.jitter.default,
      },
      delivery: task.properties.delivery.default,
      onTimeout: wait_event.properties.on_timeout.default,
      acceptParked: wait_event.properties.accept_parked.default,
      maxParallel: child.properties.max_parallel.default,
      onItemError: child.properties.on_item_error.default,
      onLimit: concurrency.properties.on_limit.default,
      maxSteps: definitionSchema.properties.limits.properties.max_steps.default,
    }).toEqual(definitionDefaults);
  });

  /** The text below a heading, up to the next one. */
  const section = (title: string): string =>
    page.split(/^#{1,3} /m).find((text) => text.startsWith(`${title}\n`)) ?? '';
  const namesIn = (text: string): Set<string> => new Set(text.match(/\w+/g));

  it('names every function that a condition may call, and none that it may not', () => {
    const named = namesIn(section('Conditions'));
    const functions = conditionFunctions();
    expect(functions.length).toBeGreaterThan(30);
    expect(functions.filter((name) => !named.has(name))).toEqual([]);
    for (const refused of ['matches', 'json', 'bind']) expect(functions).not.toContain(refused);
    expect(parseCondition('input.text.matches("a+")').ok).toBe(false);
  });

  it('names everything that an expression may start with', () => {
    const named = section('What expressions read');
    for (const root of [...templateRoots, 'visits']) expect(named).toMatch(new RegExp(`^\\| \`${root}[\`.]`, 'm'));
    expect([...named.matchAll(/^\| `/gm)]).toHaveLength(templateRoots.length + 1);
  });

  it('names every class of errors that the service gives', () => {
    for (const reserved of reservedClasses) expect(section('Errors')).toContain(`| \`${reserved}\` |`);
  });

  it('says of templates what they give', () => {
    const rows = [...section('Templates').matchAll(/^\| `("\S.*?")`/gm)].map(([, text = '']) => json(text));
    expect(rows.length).toBeGreaterThan(3);
    const definition = { id: 'x', version: 1, steps: rows.map((input, n) => ({ id: `s${n}`, kind: 'task', input })) };
    expect(parseDefinition(definition)).toMatchObject({ ok: true });
  });

  it('links to headings that are there', () => {
    const headings = new Set(
      [...page.matchAll(/^#+ (.+)$/gm)].map(
        ([, title = '']) =>
          `#${title
            .toLowerCase()
            .replaceAll(/[^a-z0-9_ -]/g, '')
            .replaceAll(' ', '-')}`,
      ),
    );
    const links = [...page.matchAll(/\]\((#[^)]+)\)/g)].map(([, link = '']) => link);
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter((link) => !headings.has(link))).toEqual([]);
  });
});
