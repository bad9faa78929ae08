/** The tables of `docs/workflows.md`: members of a definition, from `spec/definition.schema.json`, and bounds, from the code. */
import definitionSchema from '../spec/definition.schema.json' with { type: 'json' };
import { PARKED_LIFETIME_MS } from '../src/actors/event/event-mailbox.ts';
import { RUN_CHARACTERS } from '../src/actors/run/run-documents.ts';
import { MAX_DEPTH } from '../src/actors/run/steps/child.ts';
import { RUN_BODY_BYTES } from '../src/http/routes/runs.ts';
import { MAX_ORPHANS } from '../src/machines/run-phases.ts';
import { conditionBounds } from '../src/model/definition/condition.ts';
import { definitionBounds } from '../src/model/definition/definition.ts';
import { inputSchemaBounds } from '../src/model/definition/input-schema/compile.ts';
import { renderedBounds } from '../src/model/definition/template.ts';
import { markdownTable } from './tables.ts';

/** What the schema of definitions uses of JSON Schema. */
type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly default?: string | number | boolean;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
};

const definitions: Readonly<Record<string, Schema>> = definitionSchema.$defs;
const definition = (name: string): Schema => {
  const found = definitions[name];
  if (found === undefined) throw new Error(`spec/definition.schema.json has no $defs/${name}`);
  return found;
};
const nameOfRef = ($ref: string): string => $ref.slice('#/$defs/'.length);

const count = new Intl.NumberFormat('en-US').format;
const DAY_MS = 24 * 60 * 60 * 1000;
const ms = (value: number): string =>
  value > 0 && value % DAY_MS === 0 ? `${count(value / DAY_MS)} days` : `${count(value)} ms`;

/** What a member of a named shape takes, in words. A shape without a row here is said by its own bounds. */
const wordsOfShape: Readonly<Record<string, string>> = {
  id: 'an [id](#names)',
  template: 'any JSON, a [template](#templates)',
  retry: '[retry](#retries)',
  task_limits: '[limits](#limits)',
  next: '[next](#where-a-run-goes-next)',
  on_error: '[on_error](#errors)',
  step: 'a [step](#the-kinds-of-steps)',
  concurrency: '[concurrency](#keys)',
  rate: '[rate](#keys)',
  key: 'text, a [template](#templates)',
};

const between = (low: number | undefined, high: number | undefined, say: (n: number) => string = count): string => {
  if (low !== undefined && high !== undefined) return `, ${say(low)} to ${say(high)}`;
  if (high !== undefined) return `, at most ${say(high)}`;
  return low === undefined ? '' : `, at least ${say(low)}`;
};

const takes = (schema: Schema): string => {
  if (schema.$ref !== undefined) {
    const name = nameOfRef(schema.$ref);
    const { minimum, maximum } = definition(name);
    if (name.endsWith('duration_ms')) return `milliseconds${between(minimum, maximum, ms)}`;
    return wordsOfShape[name] ?? takes(definition(name));
  }
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(' or ');
  const types = [schema.type ?? []].flat();
  return types
    .map((type): string => {
      switch (type) {
        case 'string':
          return `text${between(schema.minLength, schema.maxLength)}${schema.maxLength === undefined ? '' : ' characters'}`;
        case 'array':
          return `list${between(schema.minItems, schema.maxItems)}`;
        case 'integer':
        case 'number':
          return `${type}${between(schema.minimum, schema.maximum)}`;
        default:
          return type;
      }
    })
    .join(' or ');
};

const asDefault = (value: Schema['default']): string => {
  if (value === undefined) return '';
  if (value === '') return 'the empty text';
  return `\`${value}\``;
};

/** Descriptions in the schema are plain text: here, names of members and values stand in code spans. */
const inMarkdown = (description: string, values: readonly string[] = []): string =>
  description.replaceAll(
    new RegExp(
      String.raw`"end"|\{\}|\$[a-zA-Z]+|\b[a-z]+(?:_[a-z]+)+\b|(?<=class )[a-z]+|\b(?:${['retryable', ...values].join('|')})\b`,
      'g',
    ),
    '`$&`',
  );

/** Members of one object of the schema, a row each. @param skipped members that another table tells */
const memberTable = (object: Schema, skipped: readonly string[] = []): string => {
  const rows = Object.entries(object.properties ?? {}).flatMap(([name, member]): string[][] => {
    if (skipped.includes(name)) return [];
    const meaning = member.description;
    if (meaning === undefined) throw new Error(`spec/definition.schema.json does not describe the member ${name}`);
    const fallback = object.required?.includes(name) === true ? 'required' : asDefault(member.default);
    return [[`\`${name}\``, takes(member), fallback, inMarkdown(meaning, member.enum)]];
  });
  return markdownTable(['Member', 'Takes', 'Default', 'Meaning'], rows);
};

const ofEveryStep = ['id', 'kind', 'next', 'on_error'];
const itemsOf = (name: string): Schema => definition(name).items ?? {};

const boundsTable = (): string =>
  markdownTable(
    ['What', 'Bound', 'Beyond it'],
    [
      ['Steps of a definition', count(definitionBounds.steps), 'refused at register'],
      [
        'A definition as JSON',
        `${count(definitionBounds.documentCharacters)} characters, ${definitionBounds.documentDepth} levels`,
        'refused at register',
      ],
      ['An input schema', `${count(inputSchemaBounds.characters)} characters`, 'refused at register'],
      ['A duration', ms(definitionBounds.durationMs), 'refused at register'],
      [
        'A condition',
        `${count(conditionBounds.sourceCharacters)} characters, ${conditionBounds.nodes} nodes, ${conditionBounds.depth} levels, ${conditionBounds.literalItems} items of one written list or map`,
        'refused at register',
      ],
      [
        'What a condition reads',
        `${count(conditionBounds.elementsRead)} list items and members, ${count(conditionBounds.charactersRead)} characters of text`,
        'class `expression`',
      ],
      [
        'Time of a condition that loops or reads much',
        `${conditionBounds.watchedMs} ms, tried twice`,
        'class `expression`',
      ],
      [
        'What a template gives',
        `${count(renderedBounds.characters)} characters of JSON, ${renderedBounds.depth} levels`,
        'class `expression`',
      ],
      ['Items of a `for_each`', count(definitionBounds.itemsPerForEach), 'class `expression`; written out: refused'],
      [
        'A key, expanded',
        `${count(definitionBounds.keyCharacters)} characters`,
        '400 `input_invalid`; on a task class `expression`',
      ],
      ['Child runs within child runs', `${MAX_DEPTH} levels`, 'class `fatal`, code `child_failed`'],
      ['Workers that fall silent in one visit', `${MAX_ORPHANS}; that one is the last`, 'class `orphaned`'],
      [
        'A start, a report, an event',
        `${count(RUN_BODY_BYTES)} bytes`,
        '413 `payload_too_large`; a worker then fails the step',
      ],
      [
        'Input, state and outputs of a run together, replaced ones included',
        `${count(RUN_CHARACTERS)} characters`,
        'the report that passes it is 413; without output it is taken',
      ],
      ['A parked event', ms(PARKED_LIFETIME_MS).replace('1 days', '24 hours'), 'it goes'],
    ],
  );

/** By the name that the page's marks have. */
export const workflowTables: Readonly<Record<string, () => string>> = {
  definition: () => memberTable(definitionSchema, ['$schema']),
  limits: () => memberTable(definitionSchema.properties.limits),
  task_limits: () => memberTable(definition('task_limits')),
  concurrency: () => memberTable(definition('concurrency')),
  rate: () => memberTable(definition('rate')),
  retry: () => memberTable(definition('retry')),
  next: () => memberTable(itemsOf('next')),
  on_error: () => memberTable(itemsOf('on_error')),
  task: () => memberTable(definition('task'), ofEveryStep),
  wait_event: () => memberTable(definition('wait_event'), ofEveryStep),
  awaited: () => memberTable(definition('awaited')),
  sleep: () => memberTable(definition('sleep'), ofEveryStep),
  child: () => memberTable(definition('child'), ofEveryStep),
  succeed: () => memberTable(definition('succeed'), ofEveryStep),
  fail: () => memberTable(definition('fail'), ofEveryStep),
  bounds: boundsTable,
};
