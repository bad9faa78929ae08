import { documentLeadsOn, type StepDocument } from './document.ts';
import { END } from './definition.ts';
import type { ReportFault } from './fault.ts';

/** The branches of a step as a list: what an absent, a short and a long `next` mean alike. */
export const branchesOf = (
  step: Exclude<StepDocument, { kind: 'succeed' | 'fail' }>,
  following: string | undefined,
): readonly { readonly when?: string; readonly to: string }[] => {
  if (step.next === undefined) return [{ to: following ?? END }];
  return typeof step.next === 'string' ? [{ to: step.next }] : step.next;
};

type WaitDocument = Extract<StepDocument, { kind: 'wait_event' }>;
const awaitedOf = (step: StepDocument): NonNullable<WaitDocument['any']> =>
  step.kind === 'wait_event' ? (step.any ?? []) : [];

/** False for a wait whose events all say themselves where they lead, and that goes nowhere when its time is over. */
const readsNext = (step: StepDocument): boolean => {
  const awaited = awaitedOf(step);
  const continues = step.kind === 'wait_event' && step.timeout_ms !== undefined && step.on_timeout === 'continue';
  return continues || awaited.length === 0 || awaited.some(({ to }) => to === undefined);
};

type Edges = ReadonlyMap<string, readonly string[]>;

const edgesOf = (steps: readonly StepDocument[]): Edges => {
  const edges = new Map<string, string[]>();
  steps.forEach((step, index) => {
    const targets = documentLeadsOn(step)
      ? [
          ...awaitedOf(step).flatMap(({ to }) => to ?? []),
          ...(readsNext(step) ? branchesOf(step, steps[index + 1]?.id).map((branch) => branch.to) : []),
          ...(step.on_error ?? []).map((route) => route.to),
        ]
      : [END];
    // Steps that share an id by mistake lead wherever one of them does.
    const known = edges.get(step.id);
    if (known === undefined) edges.set(step.id, targets);
    else known.push(...targets);
  });
  return edges;
};

const spread = (from: Iterable<string>, edges: Edges): ReadonlySet<string> => {
  const seen = new Set(from);
  // A set grows while it is walked: what is added is walked too.
  for (const id of seen) for (const to of edges.get(id) ?? []) seen.add(to);
  return seen;
};

const reversed = (edges: Edges): Edges => {
  const back = new Map<string, string[]>();
  for (const [from, targets] of edges) {
    for (const to of targets) {
      const sources = back.get(to) ?? [];
      sources.push(from);
      back.set(to, sources);
    }
  }
  return back;
};

/** A line after one that takes everything is never read. */
const checkDeadLines = (
  path: string,
  lines: readonly { readonly to: string }[],
  takesAll: (line: { readonly to: string }) => boolean,
  report: ReportFault,
): void => {
  const all = lines.findIndex(takesAll);
  if (all !== -1 && all !== lines.length - 1)
    report({ path: `${path}[${all + 1}]`, message: `is never reached: ${path}[${all}] takes everything` });
};

/**
 * Checks a definition as a graph: ids, targets, steps that no run can reach, steps from which no run can end.
 * @param steps of a document in which their ids, kinds and ways on have the right shape
 * @see Interface decisions, "9. Durable runs": "Register refuses, naming each fault"
 */
export const checkGraph = (steps: readonly StepDocument[], report: ReportFault): void => {
  const ids = new Map<string, number>();
  steps.forEach((step, index) => {
    const first = ids.get(step.id);
    if (first !== undefined)
      report({
        path: `steps[${index}].id`,
        message: `${JSON.stringify(step.id)} is already the id of steps[${first}]`,
      });
    else ids.set(step.id, index);
    if (step.id === END)
      report({
        path: `steps[${index}].id`,
        message: '"end" means the end of the run; call the step something else',
      });
  });

  steps.forEach((step, index) => {
    if (!documentLeadsOn(step)) return;
    const checkTarget = (path: string, to: string): void => {
      if (to !== END && !ids.has(to)) report({ path, message: `there is no step ${JSON.stringify(to)}` });
    };
    const at = `steps[${index}]`;
    if (typeof step.next === 'string') checkTarget(`${at}.next`, step.next);
    else step.next?.forEach((branch, line) => checkTarget(`${at}.next[${line}].to`, branch.to));
    awaitedOf(step).forEach(({ to }, line) => {
      if (to !== undefined) checkTarget(`${at}.any[${line}].to`, to);
    });
    if (step.next !== undefined && !readsNext(step))
      report({ path: `${at}.next`, message: 'is never read: every line of any has a "to" of its own' });
    step.on_error?.forEach((route, line) => checkTarget(`${at}.on_error[${line}].to`, route.to));
    if (Array.isArray(step.next)) checkDeadLines(`${at}.next`, step.next, (branch) => !('when' in branch), report);
    const takesAllErrors = (route: object): boolean => !('class' in route) && !('code' in route);
    checkDeadLines(`${at}.on_error`, step.on_error ?? [], takesAllErrors, report);
  });
  const edges = edgesOf(steps);
  const reachable = spread(
    steps.slice(0, 1).map((step) => step.id),
    edges,
  );
  // Where a target does not exist, the one that was meant may lead to an end.
  const missing = [...edges.values()].flat().filter((to) => !ids.has(to));
  const canEnd = spread([END, ...missing], reversed(edges));
  steps.forEach((step, index) => {
    if (ids.get(step.id) !== index || step.id === END) return; // named above
    if (!reachable.has(step.id))
      report({
        path: `steps[${index}]`,
        message: `step ${JSON.stringify(step.id)} is unreachable: nothing leads to it`,
      });
    else if (!canEnd.has(step.id))
      report({
        path: `steps[${index}]`,
        message: `step ${JSON.stringify(step.id)} has no way to an end: a run that enters it can never end`,
      });
  });
};
