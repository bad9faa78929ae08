import { canonicalJson } from '../../canonical-json.ts';
import type { Json, JsonObject } from '../../json.ts';
import { CHOICES_CHARACTERS, show } from '../fault.ts';
import { type Check, fault, isMetBy, isMetWithin, type Node, type Rule, spend, wouldBeMet } from './check.ts';
import { formats } from './formats.ts';
import type { Pattern } from './pattern.ts';
import type { Dialect } from './schema-tree.ts';

/** What a keyword is compiled with. */
export type Surroundings = {
  /** The schema that the keyword stands in. */
  readonly schema: JsonObject;
  /** The schema below this one, at a keyword and a name or an index. */
  readonly node: (...steps: readonly (string | number)[]) => Node;
  /** The schema that `$ref` means. */
  readonly target: () => Node;
  /** @throws Unacceptable for a pattern that is refused */
  readonly pattern: (source: string) => Pattern;
  /** @throws Unacceptable */
  readonly refuse: (message: string) => never;
};

/** Makes the rule of a keyword; `undefined` where another keyword speaks for it, or where it says nothing. */
type Keyword = (value: Json, surroundings: Surroundings) => Rule | undefined;

const rule = (isMet: Rule['isMet'], steps = 1): Rule => ({ isMet, steps });

// Kinds of values. A rule for one kind is met by any value of another.

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const forNumbers = (isMet: (value: number, check: Check) => boolean): Rule =>
  rule((value, check) => typeof value !== 'number' || isMet(value, check));
const forTexts = (isMet: (value: string, check: Check) => boolean): Rule =>
  rule((value, check) => typeof value !== 'string' || isMet(value, check));
const forLists = (isMet: (value: readonly Json[], ...rest: RestOf<Rule>) => boolean, steps = 1): Rule =>
  rule((value, check, seen) => !isList(value) || isMet(value, check, seen), steps);
const forObjects = (isMet: (value: JsonObject, ...rest: RestOf<Rule>) => boolean, steps = 1): Rule =>
  rule((value, check, seen) => !isObject(value) || isMet(value, check, seen), steps);
type RestOf<R extends Rule> = Parameters<R['isMet']> extends [Json, ...infer Rest] ? Rest : never;

const types: Readonly<Record<string, (value: Json) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === 'string',
  array: isList,
  object: isObject,
};

/** Characters of a text that are counted, or compared, in one step. */
const CHARACTERS_A_STEP = 8;
/** Steps to remember an item of a list whose items are unique, and to write a character of one that is no scalar. */
const ITEM_STEPS = 25;
const WRITTEN_STEPS = 4;
/** Steps to stop in the middle of writing: an exception. */
const STOPPED_STEPS = 200;
/** Above it, the engine keeps an object as a hash table, whose keys take far longer to list. */
const FAST_KEYS = 512;
const SLOW_KEY_STEPS = 25;

const spendText = (check: Check, text: string): void => spend(check, text.length / CHARACTERS_A_STEP);

/** A small program soon knows all its states; a large one may make a new one at each character, of all its instructions. */
const stepsPerCharacter = ({ instructions }: Pattern): number => 1 + instructions / 8 + instructions ** 2 / 2000;
const testPattern = (pattern: Pattern, text: string, check: Check): boolean => {
  spend(check, text.length * stepsPerCharacter(pattern));
  return pattern.test(text);
};

const keysOf = (object: JsonObject, check: Check): readonly string[] => {
  const names = Object.keys(object);
  spend(check, names.length * (names.length > FAST_KEYS ? SLOW_KEY_STEPS : 2));
  return names;
};

/** Code points: a surrogate pair is one character. */
const countCharacters = (text: string): number => {
  let count = text.length;
  for (let at = 0; at + 1 < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    const next = text.charCodeAt(at + 1);
    if (unit < 0xd800 || unit > 0xdbff || next < 0xdc00 || next > 0xdfff) continue;
    count -= 1;
    at += 1;
  }
  return count;
};

/** Equal for equal values, whatever the order and the prototypes of objects. For lists and objects it is a text, which a text may equal. */
const keyOf = (value: Json, check: Check): Json => {
  if (!isScalar(value)) return canonicalJson(value, (characters) => spend(check, WRITTEN_STEPS * characters));
  if (typeof value === 'string') spendText(check, value);
  return value;
};
const isScalar = (value: Json): boolean => typeof value !== 'object' || value === null;

class Longer extends Error {}

/** Whether a value is one of some, whatever the order and the prototypes of objects. */
const choiceOf = (choices: readonly Json[]): ((value: Json, check: Check) => boolean) => {
  const scalars = new Set(choices.filter(isScalar));
  const texts = new Set(choices.filter((choice) => !isScalar(choice)).map((choice) => canonicalJson(choice)));
  const longest = Math.max(0, ...[...texts].map((text) => text.length));
  return (value, check) => {
    if (isScalar(value)) return scalars.has(value);
    if (texts.size === 0) return false;
    let left = longest;
    try {
      const text = canonicalJson(value, (characters) => {
        left -= characters;
        if (left < 0) throw new Longer();
        spend(check, WRITTEN_STEPS * characters);
      });
      return texts.has(text);
    } catch (error) {
      if (!(error instanceof Longer)) throw error;
      spend(check, STOPPED_STEPS);
      return false;
    }
  };
};

const plural = (count: number, what: string): string =>
  `${count} ${count === 1 ? what : what.replace(/y$/, 'ie').concat('s')}`;
const fewer = (least: number, what: string): string => `must NOT have fewer than ${plural(least, what)}`;
const more = (most: number, what: string): string => `must NOT have more than ${plural(most, what)}`;
const own = (schema: JsonObject, keyword: string): Json | undefined =>
  Object.hasOwn(schema, keyword) ? schema[keyword] : undefined;
const numberIn = (schema: JsonObject, keyword: string): number | undefined => {
  const value = own(schema, keyword);
  return typeof value === 'number' ? value : undefined;
};

const bound =
  (sign: string, holds: (value: number, limit: number) => boolean): Keyword =>
  (limit) =>
    forNumbers((value, check) => holds(value, limit as number) || fault(check, `must be ${sign} ${limit as number}`));

const namedNodes = (keyword: string, value: Json, { node }: Surroundings): readonly (readonly [string, Node])[] =>
  Object.keys(value as JsonObject).map((name) => [name, node(keyword, name)] as const);
const nodesOf = (keyword: string, value: Json, { node }: Surroundings): readonly Node[] =>
  (value as readonly Json[]).map((_, index) => node(keyword, index));

/** `required` of a property that another one brings along. */
const requireWith = (name: string, needed: readonly string[]): Rule =>
  forObjects(
    (value, check) =>
      !Object.hasOwn(value, name) ||
      needed.every((one) => Object.hasOwn(value, one) || fault(check, `is required beside ${show(name)}`, one)),
    needed.length + 1,
  );
const applyWith = (name: string, node: Node): Rule =>
  forObjects((value, check, seen) => !Object.hasOwn(value, name) || isMetBy(node, value, check, seen));
const allOf = (rules: readonly Rule[]): Rule =>
  rule(
    (value, check, seen) => rules.every(({ isMet }) => isMet(value, check, seen)),
    rules.reduce((sum, { steps }) => sum + steps, 1),
  );

/** A list whose items from an index on meet one schema. */
const itemsFrom = (first: number, node: Node): Rule =>
  forLists((list, check, seen) => {
    spend(check, list.length);
    if (seen !== undefined) seen.items = Number.POSITIVE_INFINITY;
    for (let at = first; at < list.length; at += 1) if (!isMetWithin(node, list[at] as Json, at, check)) return false;
    return true;
  });
/** A list whose items meet one schema each, as far as both go. */
const itemsByPlace = (nodes: readonly Node[]): Rule =>
  forLists((list, check, seen) => {
    const count = Math.min(nodes.length, list.length);
    if (seen !== undefined) seen.items = Math.max(seen.items, count);
    return nodes.slice(0, count).every((node, at) => isMetWithin(node, list[at] as Json, at, check));
  }, nodes.length);

const isAmong =
  (names: ReadonlySet<string>, patterns: readonly Pattern[]) =>
  (name: string, check: Check): boolean =>
    names.has(name) || patterns.some((pattern) => testPattern(pattern, name, check));

/** Every keyword that says something about validity, in the order in which they are tried: what is cheap and telling first. */
const keywords: Readonly<Record<string, Keyword>> = {
  type: (named, { schema }) => {
    const names = [named].flat() as string[];
    // OpenAPI 3.0 writes so what JSON Schema writes as a type.
    const all = own(schema, 'nullable') === true && !names.includes('null') ? [...names, 'null'] : names;
    const tests = all.map((name) => types[name]).filter((test) => test !== undefined);
    return rule((value, check) => tests.some((test) => test(value)) || fault(check, `must be ${all.join(' or ')}`));
  },
  const: (wanted) => {
    const isWanted = choiceOf([wanted]);
    return rule(
      (value, check) => isWanted(value, check) || fault(check, `must be ${show(wanted, CHOICES_CHARACTERS)}`),
    );
  },
  enum: (choices) => {
    const isChoice = choiceOf(choices as readonly Json[]);
    const shown = show(choices, CHOICES_CHARACTERS);
    return rule((value, check) => isChoice(value, check) || fault(check, `must be one of ${shown}`));
  },

  maximum: bound('<=', (value, limit) => value <= limit),
  minimum: bound('>=', (value, limit) => value >= limit),
  exclusiveMaximum: bound('<', (value, limit) => value < limit),
  exclusiveMinimum: bound('>', (value, limit) => value > limit),
  multipleOf: (divisor) =>
    forNumbers(
      (value, check) =>
        Number.isInteger(value / (divisor as number)) || fault(check, `must be multiple of ${divisor as number}`),
    ),

  maxLength: (limit) => {
    const most = limit as number;
    return forTexts((text, check) => {
      if (text.length <= most) return true;
      const isLonger = text.length > 2 * most;
      if (!isLonger) spendText(check, text);
      return (!isLonger && countCharacters(text) <= most) || fault(check, more(most, 'character'));
    });
  },
  minLength: (limit) => {
    const least = limit as number;
    return forTexts((text, check) => {
      if (text.length >= 2 * least) return true;
      const isShorter = text.length < least;
      if (!isShorter) spendText(check, text);
      return (!isShorter && countCharacters(text) >= least) || fault(check, fewer(least, 'character'));
    });
  },
  pattern: (source, { pattern }) => {
    const compiled = pattern(source as string);
    return forTexts(
      (text, check) => testPattern(compiled, text, check) || fault(check, `must match pattern ${show(source)}`),
    );
  },
  format: (name, { refuse }) => {
    const format = formats.get(name as string);
    if (format === undefined) return refuse(`unknown format ${show(name)}`);
    return rule((value, check) => {
      if (typeof value === 'string') spend(check, value.length * format.stepsPerCharacter);
      return format.has(value) || fault(check, `must match format ${show(name)}`);
    });
  },

  $ref: (_, { target }) => {
    const node = target();
    return rule((value, check, seen) => isMetBy(node, value, check, seen));
  },
  allOf: (list, surroundings) => {
    const nodes = nodesOf('allOf', list, surroundings);
    return rule((value, check, seen) => nodes.every((node) => isMetBy(node, value, check, seen)), nodes.length);
  },
  anyOf: (list, surroundings) => {
    const nodes = nodesOf('anyOf', list, surroundings);
    return rule((value, check, seen) => {
      const before = check.fault;
      let isMet = false;
      for (const node of nodes) {
        if (isMetBy(node, value, check, seen)) isMet = true;
        // What further schemas say matters only for what they have seen.
        if (isMet && seen === undefined) break;
      }
      if (isMet) check.fault = before;
      return isMet;
    }, nodes.length);
  },
  oneOf: (list, surroundings) => {
    const nodes = nodesOf('oneOf', list, surroundings);
    return rule((value, check, seen) => {
      const before = check.fault;
      let met = 0;
      for (const node of nodes) if (isMetBy(node, value, check, seen)) met += 1;
      if (met === 0) return false;
      check.fault = before;
      return met === 1 || fault(check, `must match exactly one schema in oneOf, and matches ${met}`);
    }, nodes.length);
  },
  not: (_, { node }) => {
    const inner = node('not');
    return rule((value, check) => !wouldBeMet(inner, value, check) || fault(check, 'must NOT be valid'));
  },
  if: (_, { schema, node }) => {
    const condition = node('if');
    const then = own(schema, 'then') === undefined ? undefined : node('then');
    const otherwise = own(schema, 'else') === undefined ? undefined : node('else');
    return rule((value, check, seen) => {
      const branch = wouldBeMet(condition, value, check, seen) ? then : otherwise;
      return branch === undefined || isMetBy(branch, value, check, seen);
    });
  },

  maxItems: (most) =>
    forLists((list, check) => list.length <= (most as number) || fault(check, more(most as number, 'item'))),
  minItems: (least) =>
    forLists((list, check) => list.length >= (least as number) || fault(check, fewer(least as number, 'item'))),
  prefixItems: (list, surroundings) => itemsByPlace(nodesOf('prefixItems', list, surroundings)),
  items: (value, surroundings) => {
    if (Array.isArray(value)) return itemsByPlace(nodesOf('items', value, surroundings));
    const prefix = own(surroundings.schema, 'prefixItems');
    return itemsFrom(Array.isArray(prefix) ? prefix.length : 0, surroundings.node('items'));
  },
  additionalItems: (_, { schema, node }) => {
    const items = own(schema, 'items');
    return Array.isArray(items) ? itemsFrom(items.length, node('additionalItems')) : undefined;
  },
  contains: (_, { schema, node }) => {
    const inner = node('contains');
    const least = numberIn(schema, 'minContains') ?? 1;
    const most = numberIn(schema, 'maxContains') ?? Number.POSITIVE_INFINITY;
    return forLists((list, check, seen) => {
      spend(check, list.length);
      let count = 0;
      for (const [at, item] of list.entries()) {
        if (!wouldBeMet(inner, item, check)) continue;
        count += 1;
        seen?.contained.add(at);
        // Nothing that follows can change the answer.
        if (count >= least && most === Number.POSITIVE_INFINITY && seen === undefined) break;
      }
      if (count < least) return fault(check, `must contain at least ${plural(least, 'valid item')}`);
      return count <= most || fault(check, `must contain no more than ${plural(most, 'valid item')}`);
    });
  },
  uniqueItems: (wanted) =>
    wanted === true
      ? forLists((list, check) => {
          const places = new Map<Json, number>();
          const texts = new Map<Json, number>();
          for (const [at, item] of list.entries()) {
            spend(check, ITEM_STEPS);
            const key = keyOf(item, check);
            const known = isScalar(item) ? places : texts;
            const first = known.get(key);
            if (first !== undefined)
              return fault(check, `must NOT have duplicate items (items ${first} and ${at} are the same)`);
            known.set(key, at);
          }
          return true;
        })
      : undefined,

  required: (names) => {
    const needed = names as readonly string[];
    return forObjects(
      (value, check) => needed.every((name) => Object.hasOwn(value, name) || fault(check, 'is required', name)),
      needed.length,
    );
  },
  maxProperties: (most) =>
    forObjects((value, check) => {
      const count = keysOf(value, check).length;
      return count <= (most as number) || fault(check, more(most as number, 'property'));
    }),
  minProperties: (least) =>
    forObjects((value, check) => {
      const count = keysOf(value, check).length;
      return count >= (least as number) || fault(check, fewer(least as number, 'property'));
    }),
  propertyNames: (_, { node }) => {
    const inner = node('propertyNames');
    return forObjects((value, check) => {
      const names = keysOf(value, check);
      return names.every(
        (name) => wouldBeMet(inner, name, check) || fault(check, 'has a name that is not allowed', name),
      );
    });
  },
  dependentRequired: (value) =>
    allOf(Object.entries(value as JsonObject).map(([name, needed]) => requireWith(name, needed as readonly string[]))),
  dependentSchemas: (value, surroundings) =>
    allOf(namedNodes('dependentSchemas', value, surroundings).map(([name, node]) => applyWith(name, node))),
  dependencies: (value, { node }) =>
    allOf(
      Object.entries(value as JsonObject).map(([name, needed]) =>
        Array.isArray(needed)
          ? requireWith(name, needed as readonly string[])
          : applyWith(name, node('dependencies', name)),
      ),
    ),
  properties: (value, surroundings) => {
    const nodes = namedNodes('properties', value, surroundings);
    return forObjects(
      (object, check, seen) =>
        nodes.every(([name, node]) => {
          if (!Object.hasOwn(object, name)) return true;
          seen?.properties.add(name);
          return isMetWithin(node, object[name] as Json, name, check);
        }),
      nodes.length,
    );
  },
  patternProperties: (value, surroundings) => {
    const nodes = namedNodes('patternProperties', value, surroundings).map(
      ([source, node]) => [surroundings.pattern(source), node] as const,
    );
    return forObjects((object, check, seen) => {
      const names = keysOf(object, check);
      return names.every((name) =>
        nodes.every(([pattern, node]) => {
          if (!testPattern(pattern, name, check)) return true;
          seen?.properties.add(name);
          return isMetWithin(node, object[name] as Json, name, check);
        }),
      );
    });
  },
  additionalProperties: (_, { schema, node, pattern }) => {
    const inner = node('additionalProperties');
    const isNamed = isAmong(
      new Set(Object.keys((own(schema, 'properties') ?? {}) as JsonObject)),
      Object.keys((own(schema, 'patternProperties') ?? {}) as JsonObject).map(pattern),
    );
    return forObjects((object, check, seen) => {
      const names = keysOf(object, check);
      return names.every((name) => {
        if (isNamed(name, check)) return true;
        seen?.properties.add(name);
        return isMetWithin(inner, object[name] as Json, name, check);
      });
    });
  },

  unevaluatedItems: (_, { node }) => {
    const inner = node('unevaluatedItems');
    return forLists((list, check, seen) => {
      spend(check, list.length);
      for (let at = seen?.items ?? 0; at < list.length; at += 1)
        if (seen?.contained.has(at) !== true && !isMetWithin(inner, list[at] as Json, at, check)) return false;
      if (seen !== undefined) seen.items = Number.POSITIVE_INFINITY;
      return true;
    });
  },
  unevaluatedProperties: (_, { node }) => {
    const inner = node('unevaluatedProperties');
    return forObjects((object, check, seen) => {
      const names = keysOf(object, check);
      return names.every((name) => {
        if (seen?.properties.has(name) === true) return true;
        seen?.properties.add(name);
        return isMetWithin(inner, object[name] as Json, name, check);
      });
    });
  },
};

/** Keywords that say nothing by themselves: names, notes for readers and generators, and what others read. */
const silent: readonly string[] = [
  ...['$id', '$schema', '$anchor', '$defs', '$comment', '$vocabulary', 'definitions', 'then', 'else'],
  ...['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['contentEncoding', 'contentMediaType', 'contentSchema', 'minContains', 'maxContains'],
  // Of OpenAPI and of generators.
  ...['example', 'discriminator', 'xml', 'externalDocs', 'nullable'],
];
const only2020: ReadonlySet<string> = new Set([
  ...['$anchor', '$vocabulary', 'prefixItems', 'minContains', 'maxContains', 'dependentRequired', 'dependentSchemas'],
  ...['unevaluatedItems', 'unevaluatedProperties', 'contentSchema'],
]);
const known: ReadonlySet<string> = new Set([...silent, ...Object.keys(keywords)]);

/** Whether a dialect has a keyword. A misspelt one would check nothing, and nobody would notice. */
export const isKeyword = (name: string, dialect: Dialect): boolean =>
  known.has(name) && !(dialect === 'draft-07' ? only2020.has(name) : name === 'additionalItems');

/** Compiles the keywords of one schema. */
export const rulesOf = (surroundings: Surroundings): readonly Rule[] => {
  const { schema } = surroundings;
  const rules: Rule[] = [];
  for (const [name, keyword] of Object.entries(keywords)) {
    const value = own(schema, name);
    const made = value === undefined ? undefined : keyword(value, surroundings);
    if (made !== undefined) rules.push(made);
  }
  return rules;
};

/** The rule of the schema `false`. */
export const nothingIsAllowed: Rule = rule((_, check) => fault(check, 'is not allowed'));
