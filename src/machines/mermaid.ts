import { RESTARTS_AT } from './run.ts';

/** As much of a machine's configuration as a picture needs. */
type Node = {
  readonly initial?: string;
  readonly type?: string;
  readonly description?: string;
  readonly on?: Readonly<Record<string, unknown>>;
  readonly states?: Readonly<Record<string, Node>>;
};
type Way = {
  readonly target?: string;
  readonly guard?: string | { readonly type: string; readonly params?: object };
  readonly description?: string;
};

/** Ids in a diagram may hold letters, digits and underscores; a step's id may hold a dash. */
const idOf = (path: readonly string[]): string => path.map((key) => key.replaceAll('-', '__')).join('_o_');

const waysOf = (transition: unknown): readonly Way[] => {
  const ways: readonly unknown[] = Array.isArray(transition) ? transition : [transition];
  return ways.map((way) => (typeof way === 'string' ? { target: way } : (way as Way)));
};

const guardText = (guard: Way['guard']): string => {
  if (guard === undefined) return '';
  if (typeof guard === 'string') return ` [${guard}]`;
  const params = Object.values(guard.params ?? {}).map(String);
  return ` [${guard.type}${params.length === 0 ? '' : ` ${params.join(' ')}`}]`;
};

const isRestart = (guard: Way['guard']): boolean => typeof guard === 'object' && guard.type === RESTARTS_AT;

/** Mermaid reads a colon or a semicolon as its own. */
const label = (text: string): string => text.replaceAll(/[:;#]/g, ' ');

/**
 * Draws a machine as a Mermaid `stateDiagram-v2`. Transitions without a target stay where they are and are left out, but for those whose
 * description says what they change.
 * @param config the configuration that opens in xstate's `createMachine`
 */
export const drawMachine = (id: string, config: object): string => {
  const lines: string[] = ['stateDiagram-v2'];
  const targetOf = (from: readonly string[], target: string): readonly string[] =>
    target.startsWith(`#${id}.`) ? target.slice(id.length + 2).split('.') : [...from.slice(0, -1), target];

  const draw = (node: Node, path: readonly string[], indent: string): void => {
    for (const [key, child] of Object.entries(node.states ?? {})) {
      const childPath = [...path, key];
      const name = idOf(childPath);
      if (child.states === undefined) lines.push(`${indent}state "${label(key)}" as ${name}`);
      else {
        lines.push(`${indent}state "${label(key)}" as ${name} {`);
        draw(child, childPath, `${indent}  `);
        lines.push(`${indent}}`);
      }
      if (child.type === 'final') lines.push(`${indent}${name} --> [*]`);
    }
    if (node.initial !== undefined) lines.push(`${indent}[*] --> ${idOf([...path, node.initial])}`);
  };
  const connect = (node: Node, path: readonly string[]): void => {
    for (const [event, transition] of Object.entries(node.on ?? {}))
      for (const { target, guard, description } of waysOf(transition))
        if ((target !== undefined || description !== undefined) && !isRestart(guard))
          lines.push(
            `  ${idOf(path)} --> ${idOf(target === undefined ? path : targetOf(path, target))}: ${label(`${event}${guardText(guard)}`)}`,
          );
    // A restarted run begins at any step. One arrow to all of them says so.
    for (const [event, transition] of Object.entries(node.on ?? {}))
      if (waysOf(transition).some(({ guard }) => isRestart(guard)))
        lines.push(`  ${idOf(path)} --> active: ${label(`${event} [${RESTARTS_AT} any step]`)}`);
    for (const [key, child] of Object.entries(node.states ?? {})) connect(child, [...path, key]);
  };
  draw(config, [], '  ');
  connect(config, []);
  return `${lines.join('\n')}\n`;
};

/** The places of a machine, from the outside in: `active.pay.queued`. */
export const stateNames = (config: object): string[] => {
  const names: string[] = [];
  const walk = (node: Node, path: readonly string[]): void => {
    for (const [key, child] of Object.entries(node.states ?? {})) {
      const childPath = [...path, key];
      if (child.states === undefined) names.push(childPath.join('.'));
      walk(child, childPath);
    }
  };
  walk(config, []);
  return names;
};
