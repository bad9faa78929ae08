import type { Json } from '../model/json.ts';
import { payloadText } from '../model/signal.ts';
import type { TraceDetail } from '../store/signals/query.ts';
import type { Answer } from './answer.ts';
import { canonicalJson } from '../model/canonical-json.ts';
import { comparable, ExpectedAnswer, parsed, type PreparedConfig } from './comparison.ts';
import type { ConfigKey } from './config.ts';
import { findRefusal } from './refusal.ts';
import { findSecret } from './secret.ts';
import { toolKinds } from '../model/span.ts';
import { toolCallsOf } from './tool-call.ts';

/** A stored run with what scorers need of it. */
export type RunUnderScore = TraceDetail & {
  readonly answer?: Answer;
  /** What it should have answered, from a case that was captured from it. */
  readonly captured?: Json;
};

/** Passed or failed, always with the reason; or no score at all. */
export type Verdict =
  | { readonly kind: 'scored'; readonly value: 0 | 1; readonly reason: string }
  | { readonly kind: 'declined'; readonly reason: string };

export type BuiltInScorer = {
  readonly id: string;
  /** Scores compare only within one version: it changes whenever the same run could get another score. */
  readonly version: string;
  readonly passes: string;
  /** When there is no score, for readers of the list. */
  readonly declines?: string;
  /** Runs only where it is named and configured. */
  readonly needsConfig: boolean;
  readonly config: readonly ConfigKey[];
  /** `rows`: kind, name, status, times and costs alone, so that the run is read without its payloads. */
  readonly reads: 'rows' | 'payloads';
  readonly readsExpected?: true;
  /** It says whether the run did what it should, which of a cancelled run nobody can say: it gets no score. */
  readonly judgesSuccess?: true;
  readonly score: (run: RunUnderScore, config: PreparedConfig) => Verdict;
};

const SHOWN_NAMES = 10;
const SHOWN_CHARACTERS = 200;

const pass = (reason: string): Verdict => ({ kind: 'scored', value: 1, reason });
const fail = (reason: string): Verdict => ({ kind: 'scored', value: 0, reason });
const decline = (reason: string): Verdict => ({ kind: 'declined', reason });

const cut = (text: string): string => (text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text);
const quoted = (text: string): string => JSON.stringify(cut(text));
const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Names in the order of their first use, each once. */
const listed = (names: readonly string[]): string => {
  const once = [...new Set(names)];
  const shown = once.slice(0, SHOWN_NAMES).map(quoted).join(', ');
  return once.length > SHOWN_NAMES ? `${shown} and ${once.length - SHOWN_NAMES} more` : shown;
};

const NO_ANSWER = 'the run has no answer';
const lacks = (key: ConfigKey): Verdict => decline(`\`config.${key}\` is not set`);

const hasWords = (answer: Answer | undefined): answer is Answer => answer !== undefined && answer.text.trim() !== '';

const expectedOf = (run: RunUnderScore, config: PreparedConfig): ExpectedAnswer | undefined =>
  config.expected ?? (run.captured === undefined ? undefined : new ExpectedAnswer(run.captured, config));

/**
 * The thirteen deterministic scorers, in the order of their listing. No model is called, no clock is read: the same run, expected
 * answer and configuration give the same verdict. Reasons name tools, counts and bounds; they never repeat an answer or a
 * secret of it.
 *
 * A run without an answer fails what asks for a certain answer, because a crash must lower the mean; it is no case for those
 * that look for something bad in the answer, because nothing said would pass as nothing bad said.
 * @see Interface specification, "Scorers"
 */
export const builtInScorers: readonly BuiltInScorer[] = [
  {
    id: 'answered',
    version: '1',
    passes: 'the run produced a non-empty answer',
    needsConfig: false,
    config: [],
    reads: 'payloads',
    judgesSuccess: true,
    score: ({ answer }) =>
      hasWords(answer)
        ? pass('the run produced an answer')
        : fail(answer === undefined ? NO_ANSWER : 'the answer of the run is empty'),
  },
  {
    id: 'no_errors',
    version: '1',
    passes: 'no span in the run failed',
    needsConfig: false,
    config: [],
    reads: 'rows',
    judgesSuccess: true,
    score: ({ spans }) => {
      const failed = spans.filter(({ status }) => status === 'error');
      if (failed.length === 0) return pass(`none of ${counted(spans.length, 'span')} failed`);
      return fail(
        `${failed.length} of ${counted(spans.length, 'span')} failed: ${listed(failed.map(({ name }) => name))}`,
      );
    },
  },
  {
    id: 'exact_match',
    version: '1',
    passes: 'the answer equals the expected one',
    declines: 'there is no expected answer: neither `config.expected` nor a case captured from the run',
    needsConfig: false,
    config: ['expected', 'case_sensitive'],
    reads: 'payloads',
    judgesSuccess: true,
    readsExpected: true,
    score: (run, config) => {
      const expected = expectedOf(run, config);
      if (expected === undefined)
        return decline('there is no expected answer: set `config.expected`, or capture the run with one');
      if (!hasWords(run.answer)) return fail(NO_ANSWER);
      return expected.equals(run.answer)
        ? pass('the answer equals the expected one')
        : fail('the answer differs from the expected one');
    },
  },
  {
    id: 'contains',
    version: '1',
    passes: 'the answer contains a required string; of several, all of them',
    declines: 'nothing is required: neither `config.contains` nor an expected answer',
    needsConfig: false,
    config: ['contains', 'expected', 'case_sensitive'],
    reads: 'payloads',
    judgesSuccess: true,
    readsExpected: true,
    score: (run, config) => {
      const expected = expectedOf(run, config);
      const wanted = config.contains ?? (expected === undefined ? undefined : [expected.text()]);
      if (wanted === undefined)
        return decline('no string is required: set `config.contains`, or capture the run with an expected answer');
      if (!hasWords(run.answer)) return fail(NO_ANSWER);
      const text = comparable(run.answer.text, config);
      const missing = wanted.filter((part) => !text.includes(part));
      if (missing.length === 0) return pass(`the answer contains ${counted(wanted.length, 'required string')}`);
      return fail(`the answer lacks ${missing.length} of ${counted(wanted.length, 'required string')}`);
    },
  },
  {
    id: 'json_valid',
    version: '1',
    passes: 'the answer parses as JSON',
    needsConfig: false,
    config: [],
    reads: 'payloads',
    judgesSuccess: true,
    score: ({ answer }) => {
      if (!hasWords(answer)) return fail(NO_ANSWER);
      return parsed(answer.text) !== undefined ||
        (typeof answer.payload !== 'string' && answer.text === payloadText(answer.payload))
        ? pass('the answer parses as JSON')
        : fail('the answer does not parse as JSON');
    },
  },
  {
    id: 'latency_budget',
    version: '1',
    passes: 'the run finished inside a budget of `max_ms` milliseconds',
    declines: '`max_ms` is not set, or the run has not finished',
    needsConfig: false,
    config: ['max_ms'],
    reads: 'rows',
    judgesSuccess: true,
    score: ({ trace }, { max_ms: maxMs }) => {
      if (maxMs === undefined) return lacks('max_ms');
      if (trace.durationNs === undefined || trace.status === 'unset') return decline('the run has not finished');
      const tookMs = Number(trace.durationNs) / 1e6;
      const took = `the run took ${Number(tookMs.toFixed(3))} ms`;
      return tookMs <= maxMs ? pass(`${took}, inside of ${maxMs} ms`) : fail(`${took}, over the budget of ${maxMs} ms`);
    },
  },
  {
    id: 'cost_budget',
    version: '1',
    passes: 'the run cost no more than `max_cost`',
    declines: '`max_cost` is not set, or nothing in the run was priced',
    needsConfig: false,
    config: ['max_cost'],
    reads: 'rows',
    score: ({ trace }, { max_cost: maxCost }) => {
      if (maxCost === undefined) return lacks('max_cost');
      if (trace.totalCost === undefined)
        return decline('nothing in the run was priced, and an unknown cost is not zero');
      const cost = `the run cost ${Number(trace.totalCost.toPrecision(12))} ${trace.currency ?? ''}`.trimEnd();
      return trace.totalCost <= maxCost ? pass(`${cost}, within ${maxCost}`) : fail(`${cost}, more than ${maxCost}`);
    },
  },
  {
    id: 'no_tool_loop',
    version: '1',
    passes: 'no tool was called twice with the same input',
    declines: 'a tool was called more than once, and the inputs were not captured',
    needsConfig: false,
    config: [],
    reads: 'payloads',
    score: ({ spans }) => {
      const calls = toolCallsOf(spans);
      const inputs = new Map<string, Set<string>>();
      let unseen: string | undefined;
      const before = new Set<string>();
      for (const { tool, span } of calls) {
        const isAgain = before.has(tool);
        before.add(tool);
        if (span.input === undefined) {
          if (isAgain) unseen ??= tool;
          continue;
        }
        const seen = inputs.get(tool) ?? new Set();
        inputs.set(tool, seen);
        const input = canonicalJson(span.input);
        if (seen.has(input)) return fail(`tool ${quoted(tool)} was called twice with the same input`);
        seen.add(input);
      }
      if (unseen !== undefined)
        return decline(`tool ${quoted(unseen)} was called more than once, and its inputs were not captured`);
      return pass(
        calls.length === 0 ? 'no tool was called' : `no input repeats in ${counted(calls.length, 'tool call')}`,
      );
    },
  },
  {
    id: 'tool_efficiency',
    version: '1',
    passes: 'the run made no more than `max_tool_calls` tool calls',
    declines: '`max_tool_calls` is not set',
    needsConfig: false,
    config: ['max_tool_calls'],
    reads: 'rows',
    score: ({ spans }, { max_tool_calls: maxToolCalls }) => {
      if (maxToolCalls === undefined) return lacks('max_tool_calls');
      const made = toolCallsOf(spans).length;
      const calls = `the run made ${counted(made, 'tool call')}`;
      return made <= maxToolCalls
        ? pass(`${calls}, within ${maxToolCalls}`)
        : fail(`${calls}, over the budget of ${maxToolCalls}`);
    },
  },
  {
    id: 'not_a_refusal',
    version: '1',
    passes: 'the answer is not a refusal or apology',
    declines: 'the run has no answer',
    needsConfig: false,
    config: [],
    reads: 'payloads',
    score: ({ answer }) => {
      if (!hasWords(answer)) return decline(NO_ANSWER);
      const language = findRefusal(answer.text);
      return language === undefined
        ? pass('the answer does not open as a refusal or apology')
        : fail(`the answer opens as a refusal or apology (${language})`);
    },
  },
  {
    id: 'no_leaked_secret',
    version: '1',
    passes: 'no key, token or credential appears in the answer',
    declines: 'the run has no answer',
    needsConfig: false,
    config: [],
    reads: 'payloads',
    score: ({ answer }) => {
      if (!hasWords(answer)) return decline(NO_ANSWER);
      const secret = findSecret(answer.text);
      return secret === undefined ? pass('no credential was found in the answer') : fail(`the answer holds ${secret}`);
    },
  },
  {
    id: 'span_present',
    version: '1',
    passes: 'the run recorded a span of `span_kind`, named `span_name`; where both are set, one that has both',
    declines: 'neither `span_kind` nor `span_name` is set',
    needsConfig: true,
    config: ['span_kind', 'span_name'],
    reads: 'rows',
    judgesSuccess: true,
    score: ({ spans }, { span_kind: kind, span_name: name }) => {
      if (kind === undefined && name === undefined)
        return decline('neither `config.span_kind` nor `config.span_name` is set');
      const found = spans.filter(
        (span) => (kind === undefined || span.kind === kind) && (name === undefined || span.name === name),
      ).length;
      const wanted = [
        kind === undefined ? [] : [`of kind ${kind}`],
        name === undefined ? [] : [`named ${quoted(name)}`],
      ]
        .flat()
        .join(' and ');
      return found > 0
        ? pass(`the run recorded ${counted(found, 'span')} ${wanted}`)
        : fail(`none of ${counted(spans.length, 'span')} is ${wanted}`);
    },
  },
  {
    id: 'tool_succeeded',
    version: '1',
    passes: 'a tool span named `tool_name` ran and at least one call ended ok',
    declines: '`tool_name` is not set',
    needsConfig: true,
    config: ['tool_name'],
    reads: 'rows',
    judgesSuccess: true,
    score: ({ spans }, { tool_name: tool }) => {
      if (tool === undefined) return lacks('tool_name');
      const tools = spans.filter(({ kind }) => toolKinds.has(kind));
      const calls = tools
        .filter(({ name, entityName }) => name === tool || entityName === tool)
        .toSorted((a, b) => (a.startTime < b.startTime ? -1 : a.startTime > b.startTime ? 1 : 0));
      if (calls.length === 0) {
        const others = tools.map(({ name, entityName }) => entityName ?? name);
        return fail(
          `tool ${quoted(tool)} never ran; ${others.length === 0 ? 'the run holds no tool call' : `the run holds calls of ${listed(others)}`}`,
        );
      }
      const ok = calls.filter(({ status }) => status === 'ok').length;
      const lastError = calls.findLast(({ error }) => error !== undefined)?.error?.message;
      const error = lastError === undefined ? '' : `; the last error: ${quoted(lastError)}`;
      if (ok === 0)
        return fail(`tool ${quoted(tool)} ran ${counted(calls.length, 'time')} and no call ended ok${error}`);
      if (ok < calls.length)
        return pass(`tool ${quoted(tool)} ran ${calls.length} times and only ${ok} ended ok${error}`);
      return pass(`tool ${quoted(tool)} ran ${counted(calls.length, 'time')} and ended ok`);
    },
  },
];

const byId = new Map(builtInScorers.map((scorer) => [scorer.id, scorer]));

export const findBuiltIn = (id: string): BuiltInScorer | undefined => byId.get(id);

/** What runs where no scorer is named. */
export const defaultScorers: readonly BuiltInScorer[] = builtInScorers.filter(({ needsConfig }) => !needsConfig);
