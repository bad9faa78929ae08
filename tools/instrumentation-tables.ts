/** The tables of `docs/instrumentations.md`: what fields and kinds are read from, as the mapping has it. */
import { kindRules } from '../src/ingest/mapping/kind-rules.ts';
import { fields, isSpecified, type Row, rows } from '../src/ingest/mapping/table.ts';
import { markdownTable } from './tables.ts';

const wireName = (field: string): string =>
  field.replaceAll(/(?<=[a-z])[A-Z0-9]|(?<=\d)[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const code = (text: string): string => `\`${text}\``;

/** What one row reads, in words. */
const readsOf = ({ keys, indexed, members, at }: Row): string => {
  const from = at === 'resource' ? ' (resource)' : '';
  if (indexed !== undefined) return code(`${indexed.prefix}N.${indexed.strip}*`);
  if (members === undefined) return keys.map((key) => `${code(key)}${from}`).join(', ');
  return `${members.map((path) => code(path.join('.'))).join(', ')} within ${keys.map(code).join(', ')}`;
};

const fieldTable = (): string =>
  markdownTable(
    ['Field', 'Read from', 'As emitted by'],
    fields.flatMap((field) =>
      rows
        .filter((row) => row.field === field)
        .map((row, at) => [
          at === 0 ? code(wireName(field)) : '',
          readsOf(row),
          isSpecified(row) ? 'the specification' : row.emitter,
        ]),
    ),
  );

/** A value with a slash would look like a path of the repository. */
const value = (text: string): string => (text.includes('/') ? `"${text}"` : code(text));

const kindTable = (): string =>
  markdownTable(
    ['Attribute', 'Value: kind', 'As emitted by'],
    kindRules.map(({ key, emitter, reads, specified }) => [
      code(key),
      reads.by === 'presence'
        ? `any: ${code(reads.kind)}`
        : [
            ...Object.entries(reads.kinds).map(([said, kind]) => `${value(said)}: ${code(kind)}`),
            ...Object.entries(reads.suffixes ?? {}).map(([said, kind]) => `${code(`*${said}`)}: ${code(kind)}`),
          ].join(', '),
      specified ? 'the specification' : emitter,
    ]),
  );

/** By the name that the page's marks have. */
export const instrumentationTables: Readonly<Record<string, () => string>> = { fields: fieldTable, kinds: kindTable };

/** Everybody whose attributes the mapping reads. One row may have several. */
export const emitters = (): ReadonlySet<string> =>
  new Set(
    [...rows.filter((row) => !isSpecified(row)), ...kindRules.filter(({ specified }) => !specified)].flatMap(
      ({ emitter }) => emitter.split(', '),
    ),
  );
