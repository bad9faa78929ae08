import type { Json, JsonObject } from '../json.ts';
import { type ExpressionScope, templateRoots } from './expression-scope.ts';
import { formatPath, type Path } from './path.ts';
import { type Evaluated, expressionError } from './step-error.ts';

/** JSON text of what one template may become, in characters, and how deep it may nest. */
export const renderedBounds = { characters: 4 * 1024 * 1024, depth: 128 } as const;

type Reference = { readonly kind: 'reference'; readonly path: Path; readonly optional: boolean };
type Node =
  | { readonly kind: 'literal'; readonly value: Json }
  | Reference
  | { readonly kind: 'text'; readonly parts: readonly (string | Reference)[] }
  | { readonly kind: 'list'; readonly items: readonly Node[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, Node])[] };

/** JSON with `${path}` in its texts, parsed once and rendered many times. */
export type Template = { readonly root: Node; readonly reads: readonly Path[] };

/** What parsing the text of an expression gives: the thing, or what is wrong with the text. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

const ROOTS: ReadonlySet<string> = new Set(templateRoots);
const SEGMENT = /^(?:\.?([A-Za-z0-9_-]+)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\])/;

const parseReference = (source: string): Parsed<Reference> => {
  const trimmed = source.trim();
  const optional = trimmed.endsWith('?');
  let rest = optional ? trimmed.slice(0, -1) : trimmed;
  const fault = (why: string): Parsed<never> => ({ ok: false, message: `\${${source}}: ${why}` });
  if (rest === '') return fault('there is no path between the braces');
  if (rest.startsWith('.')) return fault('a path starts with a name');
  const path: (string | number)[] = [];
  while (rest !== '') {
    const match = SEGMENT.exec(rest);
    // Past the first name, a name follows a dot: `input.a`, never `input[0]a`.
    if (match === null || (path.length > 0 && match[1] !== undefined && !rest.startsWith('.')))
      return fault(
        `cannot read ${JSON.stringify(rest)}; a path is names after dots, [0] for an index, ["..."] for any key`,
      );
    if (match[1] !== undefined) path.push(match[1]);
    else if (match[2] !== undefined) path.push(Number(match[2]));
    else {
      try {
        path.push(JSON.parse(match[3] ?? '') as string);
      } catch {
        return fault(`${match[3]} is not a JSON text`);
      }
    }
    rest = rest.slice(match[0].length);
  }
  const root = path[0];
  if (typeof root !== 'string' || !ROOTS.has(root))
    return fault(`${JSON.stringify(root)} is not readable; a path starts with one of ${templateRoots.join(', ')}`);
  if (root === 'steps' && path[2] !== 'output') return fault('of a step, the output can be read: steps.<id>.output');
  return { ok: true, value: { kind: 'reference', path, optional } };
};

const parseText = (source: string): Parsed<Node> => {
  const parts: (string | Reference)[] = [];
  let literal = '';
  let at = 0;
  while (at < source.length) {
    const open = source.indexOf('${', at);
    if (open === -1) break;
    // "$${" is how a text holds the two characters themselves.
    if (open > at && source[open - 1] === '$') {
      literal += `${source.slice(at, open - 1)}\${`;
      at = open + 2;
      continue;
    }
    const close = source.indexOf('}', open);
    if (close === -1) return { ok: false, message: `${JSON.stringify(source.slice(open, open + 40))} is never closed` };
    const reference = parseReference(source.slice(open + 2, close));
    if (!reference.ok) return reference;
    literal += source.slice(at, open);
    if (literal !== '') parts.push(literal);
    literal = '';
    parts.push(reference.value);
    at = close + 1;
  }
  literal += source.slice(at);
  if (literal !== '') parts.push(literal);
  const [only] = parts;
  if (only === undefined) return { ok: true, value: { kind: 'literal', value: '' } };
  if (parts.length > 1) return { ok: true, value: { kind: 'text', parts } };
  return { ok: true, value: typeof only === 'string' ? { kind: 'literal', value: only } : only };
};

const parseNode = (source: Json): Parsed<Node> => {
  if (typeof source === 'string') return parseText(source);
  if (source === null || typeof source !== 'object') return { ok: true, value: { kind: 'literal', value: source } };
  if (Array.isArray(source)) {
    const items: Node[] = [];
    for (const item of source as readonly Json[]) {
      const parsed = parseNode(item);
      if (!parsed.ok) return parsed;
      items.push(parsed.value);
    }
    if (items.every((item) => item.kind === 'literal'))
      return { ok: true, value: { kind: 'literal', value: items.map((item) => item.value) } };
    return { ok: true, value: { kind: 'list', items } };
  }
  const entries: [string, Node][] = [];
  for (const [key, value] of Object.entries(source as JsonObject)) {
    // The parser of definitions refuses this name anywhere; here it would set the prototype of the rendered object.
    if (key === '__proto__') return { ok: false, message: 'the key "__proto__" is not allowed' };
    const parsed = parseNode(value);
    if (!parsed.ok) return parsed;
    entries.push([key, parsed.value]);
  }
  const literals: Record<string, Json> = {};
  for (const [key, node] of entries) {
    if (node.kind !== 'literal') return { ok: true, value: { kind: 'object', entries } };
    literals[key] = node.value;
  }
  return { ok: true, value: { kind: 'literal', value: literals } };
};

const collectReads = (node: Node, into: Path[]): Path[] => {
  switch (node.kind) {
    case 'literal':
      break;
    case 'reference':
      into.push(node.path);
      break;
    case 'text':
      for (const part of node.parts) if (typeof part !== 'string') into.push(part.path);
      break;
    case 'list':
      for (const item of node.items) collectReads(item, into);
      break;
    case 'object':
      for (const [, value] of node.entries) collectReads(value, into);
      break;
    default:
      node satisfies never;
  }
  return into;
};

/**
 * Parses a template: any JSON whose texts may hold `${path}`, or `${path?}` where the path may be missing. `$${` stands
 * for the two characters `${` themselves.
 * @param source JSON of bounded depth: a part of a checked definition
 * @returns the template, or what is wrong with the first text that cannot be read
 * @see Interface decisions, "9. Durable runs": "Templates"
 */
export const parseTemplate = (source: Json): Parsed<Template> => {
  const root = parseNode(source);
  return root.ok ? { ok: true, value: { root: root.value, reads: collectReads(root.value, []) } } : root;
};

/** Own properties of objects and indices of lists; anything else, an inherited name above all, is missing. */
const child = (value: Json, segment: string | number): Json | undefined => {
  if (value === null || typeof value !== 'object') return undefined;
  if (Array.isArray(value)) {
    const index = typeof segment === 'number' ? segment : /^(?:0|[1-9]\d{0,8})$/.test(segment) ? Number(segment) : -1;
    return (value as readonly Json[])[index];
  }
  return Object.hasOwn(value, segment) ? (value as JsonObject)[segment] : undefined;
};

const resolve = (scope: ExpressionScope, path: Path): Json | undefined => {
  let value: Json | undefined = scope;
  for (const segment of path) {
    if (value === undefined) return undefined;
    value = child(value, segment);
  }
  return value;
};

/** Thrown inside this file only, and caught by `render`: a template stops at its first fault, at any depth. */
class Unrenderable extends Error {}

const read = (scope: ExpressionScope, reference: Reference): Json | undefined => {
  const value = resolve(scope, reference.path);
  if (value === undefined && !reference.optional) throw new Unrenderable(`${formatPath(reference.path)} is missing`);
  return value;
};

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Counts the JSON text of a value against what is left, without building it. */
const measure = (value: Json, left: number, depth: number): number => {
  if (depth > renderedBounds.depth)
    throw new Unrenderable(`the result nests deeper than ${renderedBounds.depth} levels`);
  let rest = left;
  if (typeof value === 'string') rest -= value.length + 2;
  else if (value === null || typeof value !== 'object') rest -= 5;
  else if (Array.isArray(value)) for (const item of value as readonly Json[]) rest = measure(item, rest - 1, depth + 1);
  else
    for (const key of Object.keys(value))
      rest = measure((value as JsonObject)[key] ?? null, rest - key.length - 4, depth + 1);
  if (rest < 0)
    throw new Unrenderable(
      `the result is larger than ${renderedBounds.characters} characters of JSON; pass a reference instead of the data`,
    );
  return rest;
};

const renderText = (parts: readonly (string | Reference)[], scope: ExpressionScope): string => {
  let text = '';
  for (const part of parts) {
    if (typeof part === 'string') text += part;
    else {
      const value = read(scope, part);
      if (value === undefined) continue;
      measure(value, renderedBounds.characters - text.length, 0);
      text += asText(value);
    }
  }
  return text;
};

const renderNode = (node: Node, scope: ExpressionScope): Json | undefined => {
  switch (node.kind) {
    case 'literal':
      return node.value;
    case 'reference':
      return read(scope, node);
    case 'text':
      return renderText(node.parts, scope);
    case 'list':
      return node.items.map((item) => renderNode(item, scope)).filter((item) => item !== undefined);
    case 'object': {
      const object: Record<string, Json> = {};
      for (const [key, child] of node.entries) {
        const value = renderNode(child, scope);
        if (value !== undefined) object[key] = value;
      }
      return object;
    }
    default:
      return node satisfies never;
  }
};

/**
 * Fills a template in. A text that is one `${path}` alone becomes the value itself, of its own type; inside a longer text,
 * values other than texts become their JSON. Values are shared with the scope, not copied: both are immutable.
 * @returns the value; `undefined` only where the whole template is one optional path that is missing. An error of class
 * `expression` names the missing path, or the bound of `renderedBounds` that the result would break
 * @see Interface decisions, "9. Durable runs": "Templates", "A missing path always fails"
 */
export const render = (template: Template, scope: ExpressionScope): Evaluated<Json | undefined> => {
  try {
    const value = renderNode(template.root, scope);
    if (value !== undefined && template.reads.length > 0) measure(value, renderedBounds.characters, 0);
    return { ok: true, value };
  } catch (error) {
    if (error instanceof Unrenderable) return expressionError(error.message);
    throw error;
  }
};

/**
 * Fills a template in where a text is needed: the key of a wait, the message of a failure, a time. A value of another type
 * becomes its JSON text, a missing optional one the empty text.
 */
export const renderAsText = (template: Template, scope: ExpressionScope): Evaluated<string> => {
  const rendered = render(template, scope);
  return rendered.ok ? { ok: true, value: rendered.value === undefined ? '' : asText(rendered.value) } : rendered;
};
