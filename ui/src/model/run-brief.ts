import type { components } from '../api/types.ts';
import { type Brief, cutSection, estimateTokens, fenced, headWithin, oneLine } from './brief.ts';
import { tellEntry } from './journal.ts';
import { type Visit, visitsOf } from './run-diff.ts';
import { formatCount, formatDurationMs, formatMoney, plural } from './units.ts';

type RunDetail = components['schemas']['RunDetail'];
type Entry = components['schemas']['JournalEntry'];

/** Kept for saying what was cut. */
const CUT_TOKENS = 160;
/** No part is shown by less than this. */
const LEAST_PART_TOKENS = 40;
/** A list gets at most this share of what is left, so that payloads have room. */
const LIST_SHARE = 0.4;

const factsOf = (run: RunDetail): readonly string[] => [
  `run ${run.run_id} of ${run.definition_id} version ${run.definition_version}, project ${run.project}`,
  `status: ${run.status}${run.cursor === undefined ? '' : ` at step ${run.cursor}`}`,
  `created ${run.created_at}${run.ended_at === undefined ? '' : `, ended ${run.ended_at}`}`,
  `${plural(run.step_count, 'entry', 'entries')} into steps, ${plural(run.attempts.length, 'attempt')}`,
  `cost: ${run.cost === undefined ? 'not priced' : formatMoney(run.tree_cost ?? run.cost)}`,
  ...(run.error === undefined
    ? []
    : [
        `error: ${run.error.code ?? run.error.class}${run.error.step_id === undefined ? '' : ` at ${run.error.step_id}`}`,
      ]),
  ...run.waits.map(({ step_id, event, key }) => `waits at ${step_id} for the event ${event} with the key ${key}`),
  ...run.timers.map(({ name, due_at }) => `timer ${name}${due_at === undefined ? '' : ` due ${due_at}`}`),
  ...(run.waiting_for === undefined
    ? []
    : [`waits for the key ${run.waiting_for.key}, place ${run.waiting_for.position}`]),
  ...(run.children.length === 0 ? [] : [plural(run.children.length, 'child run')]),
];

const visitLine = ({ step, visit, durationMs, isOpen, attempts, error }: Visit): string =>
  `- ${error === undefined ? '' : '**failed** '}${oneLine(step)}${visit > 1 ? `, visit ${visit}` : ''}: ${formatDurationMs(durationMs)}${
    isOpen ? ', open' : ''
  }${attempts > 1 ? `, ${plural(attempts, 'attempt')}` : ''}${error === undefined ? '' : `: ${oneLine(error)}`}`;

type Part = { readonly name: string; readonly value: unknown };

/** What the run brought and was given, the most telling first. */
const partsOf = (run: RunDetail): readonly Part[] => [
  ...(run.error === undefined ? [] : [{ name: 'Error', value: run.error.message }]),
  ...run.attempts
    .filter(({ error }) => error !== undefined)
    .slice(-3)
    .toReversed()
    .map(({ step_id: step, attempt, error }) => ({
      name: `Error of ${oneLine(step)}, attempt ${attempt}`,
      value: error,
    })),
  { name: 'Input', value: run.input },
  ...(run.output === undefined ? [] : [{ name: 'Output', value: run.output }]),
  { name: 'State', value: run.state },
  ...run.attempts
    .filter(({ output }) => output !== undefined)
    .toReversed()
    .map(({ step_id: step, visit, output }) => ({
      name: `Output of ${oneLine(step)}${visit > 1 ? `, visit ${visit}` : ''}`,
      value: output,
    })),
];

/** As many of the last lines as fit, in their order. */
const lastWithin = (lines: readonly string[], tokens: number): readonly string[] => {
  let room = tokens;
  let first = lines.length;
  while (first > 0) {
    room -= estimateTokens(`${lines[first - 1] ?? ''}\n`);
    if (room < 0) break;
    first -= 1;
  }
  return lines.slice(first);
};

/**
 * A run as Markdown, for an assistant: where it stands, its visits, its payloads and its journal, never longer than the budget.
 * @param nowMs to which a step that is open is counted
 */
export const writeRunBrief = (
  run: RunDetail,
  entries: readonly Entry[],
  nowMs: number,
  budgetTokens: number,
): Brief => {
  const cut: string[] = [];
  const blocks: string[] = [];
  let room = budgetTokens - CUT_TOKENS;
  const put = (block: string): boolean => {
    const cost = estimateTokens(`${block}\n\n`) + 1;
    if (cost > room) return false;
    room -= cost;
    blocks.push(block);
    return true;
  };
  const putList = (heading: string, what: string, lines: readonly string[]): void => {
    if (lines.length === 0) return;
    const head = `## ${heading}\n\n`;
    const shown = lastWithin(lines, Math.floor(room * LIST_SHARE) - estimateTokens(head) - 2);
    if (shown.length > 0 && put(head + shown.join('\n'))) {
      if (shown.length < lines.length)
        cut.push(`${what}: the last ${formatCount(shown.length)} of ${formatCount(lines.length)}`);
    } else cut.push(what);
  };
  put([`# Run of ${oneLine(run.definition_id)}`, '', ...factsOf(run).map((fact) => `- ${oneLine(fact)}`)].join('\n'));
  putList('Steps', 'the list of steps', visitsOf(run, entries, nowMs).map(visitLine));
  const parts = partsOf(run);
  for (const [at, { name, value }] of parts.entries()) {
    const [text, language] =
      typeof value === 'string' ? [value, 'text'] : [JSON.stringify(value, null, 1) ?? '', 'json'];
    const frame = estimateTokens(`## ${name}\n\n${fenced('', language)}`) + 8;
    // What a short part leaves goes to those behind it; the journal comes last.
    const share = Math.max(Math.floor(room / (parts.length - at + 1)), LEAST_PART_TOKENS);
    const shown = headWithin(text, share - frame);
    const isCut = shown.length < text.length;
    if (shown === '' || !put(`## ${name}\n\n${fenced(isCut ? `${shown}…` : shown, language)}`))
      cut.push(name.toLowerCase());
    else if (isCut)
      cut.push(`${name.toLowerCase()}: ${formatCount(shown.length)} of ${formatCount(text.length)} characters`);
  }
  putList(
    'Journal',
    'the journal',
    entries.map((entry) => `- ${entry.seq} ${entry.at} ${oneLine(tellEntry(entry))}`),
  );
  if (cut.length > 0) blocks.push(cutSection(cut, CUT_TOKENS + room));
  const text = `${blocks.join('\n\n')}\n`;
  return { text, tokens: estimateTokens(text), cut };
};
