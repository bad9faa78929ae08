import {
  type ASTNode,
  Environment,
  EvaluationError,
  ParseError,
  TypeError as CelTypeError,
} from '@marcbachmann/cel-js';
import type { Json, JsonObject } from '../json.ts';
import { type ExpressionScope, templateRoots } from './expression-scope.ts';
import type { Path } from './path.ts';
import { type Evaluated, expressionError } from './step-error.ts';
import type { Parsed } from './template.ts';
import { runWatched } from './watchdog.ts';

/** What one condition may be, and what it may read. Elements are list items and object entries, at any depth. */
export const conditionBounds = {
  sourceCharacters: 4096,
  nodes: 500,
  depth: 32,
  literalItems: 200,
  elementsRead: 100_000,
  charactersRead: 256 * 1024,
  /** A condition without a loop that reads no more than this is cheap whatever it does, and runs without a watch. */
  unwatchedElements: 2000,
  unwatchedCharacters: 16 * 1024,
  /** Wall time of any other, in each of two tries: loops, long texts, lists that are joined to lists. */
  watchedMs: 200,
  sourceShownCharacters: 200,
} as const;

/** A CEL expression, parsed and checked once, evaluated many times. */
export type Condition = {
  readonly source: string;
  readonly reads: readonly Path[];
  readonly projection: Projection;
  readonly hasMacro: boolean;
  readonly program: (context: Record<string, unknown>) => unknown;
};

const roots: ReadonlySet<string> = new Set([...templateRoots, 'visits'] satisfies (keyof ExpressionScope)[]);

/** JSON numbers are CEL doubles, written integers are CEL ints: CEL itself refuses `input.n + 1`. */
const arithmetic: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
};

const createEnvironment = (): Environment => {
  const environment = new Environment({
    homogeneousAggregateLiterals: false,
    limits: {
      maxAstNodes: conditionBounds.nodes,
      maxDepth: conditionBounds.depth,
      maxListElements: conditionBounds.literalItems,
      maxMapEntries: conditionBounds.literalItems,
      maxCallArguments: 8,
    },
  });
  for (const name of roots) environment.registerVariable(name, 'dyn');
  for (const [sign, compute] of Object.entries(arithmetic)) {
    const mixed = (left: number | bigint, right: number | bigint): number => compute(Number(left), Number(right));
    // The return type is spelled out: left to itself it is that of the left side, and `1 + input.n == 6` compares int with int.
    environment.registerOperator(`double ${sign} int: double`, mixed);
    environment.registerOperator(`int ${sign} double: double`, mixed);
  }
  const equal = (left: number | bigint, right: number | bigint): boolean => Number(left) === Number(right);
  // Registers the other order, and both of !=, too.
  environment.registerOperator('int == double: bool', equal);
  environment.registerOperator('double % double: double', (left: number, right: number) => left % right);
  return environment;
};

const environment = createEnvironment();

/** Loops over a list. `has` is a macro of CEL too, but loops over nothing. */
const loops: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);
/** Calls that conditions may not make, and why. */
const refusedCalls: Readonly<Record<string, string>> = {
  matches: 'a regular expression can take unbounded time; use startsWith, endsWith or contains',
  bind: 'cel.bind can grow a value without bound; write the value out',
  json: 'parsing text is the work of a task',
};

/** The names of functions, methods and loops that conditions may use, each once. */
export const conditionFunctions = (): readonly string[] => {
  // Optional values and namespaces are declared by the library, and not reachable as it is set up here.
  const reachable = environment
    .getDefinitions()
    .functions.filter(({ receiverType }) => !/^(?:optional<|OptionalNamespace|CelNamespace)/.test(receiverType ?? ''));
  return [...new Set(reachable.map(({ name }) => name))].filter((name) => refusedCalls[name] === undefined);
};

/** Which parts of the scope a condition reads, as a tree. A condition is handed these and nothing else. */
type Projection = { whole: boolean; readonly children: Map<string, Projection> };

class Unacceptable extends Error {}

/** Walks the syntax tree: collects what it reads, refuses what it must not hold. */
const inspect = (ast: ASTNode): { reads: Path[]; projection: Projection; hasMacro: boolean } => {
  const reads: Path[] = [];
  const projection: Projection = { whole: false, children: new Map() };
  let hasMacro = false;

  /** The path of `a.b["c"]` when it starts at a root of the scope and every part of it is written out. */
  const staticPath = (node: ASTNode): string[] | undefined => {
    if (node.op === 'id') return roots.has(node.args) ? [node.args] : undefined;
    if (node.op !== '.' && node.op !== '[]') return undefined;
    const parent = staticPath(node.args[0]);
    if (parent === undefined) return undefined;
    const [, key] = node.args;
    if (typeof key === 'string') return [...parent, key];
    return key.op === 'value' && typeof key.args === 'string' ? [...parent, key.args] : undefined;
  };

  const note = (path: readonly string[], whole: boolean): void => {
    reads.push(path);
    let at = projection;
    for (const segment of path) {
      const next = at.children.get(segment) ?? { whole: false, children: new Map() };
      at.children.set(segment, next);
      at = next;
    }
    if (whole) at.whole = true;
  };

  const visit = (node: ASTNode, insideLoop: boolean): void => {
    const path = staticPath(node);
    if (path !== undefined) {
      note(path, true);
      return;
    }
    switch (node.op) {
      case 'value':
      case 'id':
        return;
      case '.':
      case '.?':
        visit(node.args[0], insideLoop);
        return;
      case '!_':
      case '-_':
        visit(node.args, insideLoop);
        return;
      case 'list':
        for (const item of node.args) visit(item, insideLoop);
        return;
      case 'map':
        for (const [key, value] of node.args) {
          visit(key, insideLoop);
          visit(value, insideLoop);
        }
        return;
      case '?:':
        for (const part of node.args) visit(part, insideLoop);
        return;
      case 'call': {
        const [name, args] = node.args;
        const why = refusedCalls[name];
        if (why !== undefined) throw new Unacceptable(`${name}() is refused: ${why}`);
        const [only] = args;
        const tested = name === 'has' && only !== undefined ? staticPath(only) : undefined;
        // Only its presence is asked for, so a large value behind it costs nothing.
        if (tested !== undefined) note(tested, false);
        else for (const arg of args) visit(arg, insideLoop);
        return;
      }
      case 'rcall': {
        const [name, receiver, args] = node.args;
        const why = refusedCalls[name];
        if (why !== undefined) throw new Unacceptable(`${name}() is refused: ${why}`);
        if (!loops.has(name)) {
          visit(receiver, insideLoop);
          for (const arg of args) visit(arg, insideLoop);
          return;
        }
        hasMacro = true;
        if (insideLoop) throw new Unacceptable(`${name}() inside another macro is refused: its cost would multiply`);
        if (receiver.op === 'rcall' && loops.has(receiver.args[0]) && receiver.args[0] !== 'filter')
          throw new Unacceptable(
            `${name}() on the result of ${receiver.args[0]}() is refused; only filter() can be followed`,
          );
        const [variable, ...bodies] = args;
        if (variable?.op === 'id' && roots.has(variable.args))
          throw new Unacceptable(
            `${name}() cannot call its variable ${JSON.stringify(variable.args)}: that name is taken`,
          );
        visit(receiver, insideLoop);
        for (const body of bodies) visit(body, true);
        return;
      }
      default:
        for (const part of node.args) visit(part, insideLoop);
    }
  };

  visit(ast, false);
  return { reads, projection, hasMacro };
};

const messageOf = (error: unknown): string =>
  error instanceof ParseError || error instanceof EvaluationError || error instanceof CelTypeError
    ? error.summary.slice(0, 300)
    : 'it cannot be computed';

/**
 * Parses a condition and checks it as far as that goes without data: syntax, unknown names and functions, a result that
 * cannot be true or false, and what conditions may not hold (`matches`, macros inside macros).
 * @see Interface decisions, "9. Durable runs": "Conditions"
 */
export const parseCondition = (source: string): Parsed<Condition> => {
  if (source.length > conditionBounds.sourceCharacters)
    return {
      ok: false,
      message: `a condition has at most ${conditionBounds.sourceCharacters} characters, not ${source.length}`,
    };
  try {
    const program = environment.parse(source);
    const inspected = inspect(program.ast);
    const checked = program.check();
    if (!checked.valid) return { ok: false, message: messageOf(checked.error) };
    if (checked.type !== 'bool' && checked.type !== 'dyn')
      return { ok: false, message: `a condition is true or false; this one gives ${checked.type}` };
    return { ok: true, value: { source, program, ...inspected } };
  } catch (error) {
    return { ok: false, message: error instanceof Unacceptable ? error.message : messageOf(error) };
  }
};

class TooMuch extends Error {}
type Budget = { elements: number; characters: number };

/** A copy of a value in which objects are maps, so that a key can have any name, `constructor` and `__proto__` too. */
const copyWhole = (value: Json, budget: Budget): unknown => {
  if (typeof value === 'string') {
    budget.characters -= value.length;
    if (budget.characters < 0) throw new TooMuch(`more than ${conditionBounds.charactersRead} characters of text`);
    return value;
  }
  if (value === null || typeof value !== 'object') return value;
  const keys = Array.isArray(value) ? undefined : Object.keys(value);
  budget.elements -= keys?.length ?? (value as readonly Json[]).length;
  if (budget.elements < 0) throw new TooMuch(`more than ${conditionBounds.elementsRead} list items and object entries`);
  if (keys === undefined) return (value as readonly Json[]).map((item) => copyWhole(item, budget));
  return new Map(keys.map((key) => [key, copyWhole((value as JsonObject)[key] ?? null, budget)]));
};

const project = (value: Json, projection: Projection, budget: Budget): unknown => {
  if (projection.whole || value === null || typeof value !== 'object') return copyWhole(value, budget);
  if (Array.isArray(value)) return [];
  const copy = new Map<string, unknown>();
  for (const [key, inner] of projection.children)
    if (Object.hasOwn(value, key)) copy.set(key, project((value as JsonObject)[key] ?? null, inner, budget));
  return copy;
};

const contextOf = (
  condition: Condition,
  scope: ExpressionScope,
): { context: Record<string, unknown>; small: boolean } => {
  const budget: Budget = { elements: conditionBounds.elementsRead, characters: conditionBounds.charactersRead };
  const context: Record<string, unknown> = {};
  for (const [root, projection] of condition.projection.children) {
    const value: Json | undefined = scope[root as keyof ExpressionScope];
    if (root === 'visits') {
      // A step that was never entered has zero entries; it is not a missing path.
      const counts = [...projection.children.keys()].map(
        (id) => [id, Object.hasOwn(scope.visits, id) ? (scope.visits[id] ?? 0) : 0] as const,
      );
      context[root] = new Map(counts);
    } else if (value !== undefined) context[root] = project(value, projection, budget);
  }
  const elements = conditionBounds.elementsRead - budget.elements;
  const characters = conditionBounds.charactersRead - budget.characters;
  const small = elements <= conditionBounds.unwatchedElements && characters <= conditionBounds.unwatchedCharacters;
  return { context, small };
};

/**
 * Decides a condition.
 * @returns true or false, or an error of class `expression` that says what was missing or did not fit, never a payload of
 * more than a key
 * @see Interface decisions, "9. Durable runs": "a failing condition fails the step with class `expression`"
 */
export const evaluate = (condition: Condition, scope: ExpressionScope): Evaluated<boolean> => {
  const fail = (why: string): Evaluated<never> => {
    const { sourceShownCharacters: shown } = conditionBounds;
    const source = condition.source.length > shown ? `${condition.source.slice(0, shown)}…` : condition.source;
    return expressionError(`condition ${JSON.stringify(source)}: ${why}`);
  };
  try {
    const { context, small } = contextOf(condition, scope);
    let value: unknown;
    if (condition.hasMacro || !small) {
      const watched = runWatched(conditionBounds.watchedMs, () => condition.program(context));
      if (!watched.finished) return fail(`it took longer than ${conditionBounds.watchedMs} ms`);
      value = watched.value;
    } else value = condition.program(context);
    if (typeof value === 'boolean') return { ok: true, value };
    return fail(`a condition is true or false; this one gave ${value === null ? 'null' : `a ${describe(value)}`}`);
  } catch (error) {
    if (error instanceof TooMuch) return fail(`it reads ${error.message}`);
    const why = messageOf(error);
    const missing = /^(?:Unknown variable|No such key): /.test(why);
    return fail(missing ? `${why} (has(...) asks whether a path is there)` : why);
  }
};

const describe = (value: unknown): string => {
  if (typeof value === 'bigint' || typeof value === 'number') return 'number';
  if (typeof value === 'string') return 'text';
  return Array.isArray(value) ? 'list' : 'map';
};
