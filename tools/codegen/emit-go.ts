import type { EnumModel, Member, Models, ObjectModel, Type } from './models.ts';
import { wrap } from './text.ts';

const WIDTH = 110;
/** Parts of names that Go writes in capitals. */
const INITIALISMS: ReadonlySet<string> = new Set(['id', 'ttl', 'usd', 'ms', 'ns', 'json']);

/** `lease_ttl_ms` becomes `LeaseTTLMS`, `run.started` becomes `RunStarted`. */
const goName = (name: string): string =>
  name
    .split(/[_.]/)
    .map((part) => (INITIALISMS.has(part) ? part.toUpperCase() : part.slice(0, 1).toUpperCase() + part.slice(1)))
    .join('');

const comment = (text: string, indent: string): readonly string[] =>
  wrap(text, WIDTH - indent.length - 3).map((line) => `${indent}// ${line}`);

/** Rows of cells in columns, as gofmt aligns lines that follow each other. */
const aligned = (rows: readonly (readonly string[])[], indent: string): readonly string[] => {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, cell] of row.entries())
      widths[at] = Math.max(widths[at] ?? 0, at === row.length - 1 ? 0 : cell.length);
  return rows.map(
    (row) =>
      indent +
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join(' ')
        .trimEnd(),
  );
};

const typeName = (type: Type): string => {
  switch (type.kind) {
    case 'text':
      return 'string';
    case 'integer':
      return 'int64';
    case 'number':
      return 'float64';
    case 'boolean':
      return 'bool';
    case 'json':
      return 'json.RawMessage';
    case 'json_object':
      return 'Object';
    case 'list':
      return `List[${typeName(type.of)}]`;
    case 'map':
      return `Map[${typeName(type.of)}]`;
    default:
      return type.name;
  }
};

/** Of an optional member: what tells absent from zero. An empty text is absent. */
const optional = (type: Type): readonly [type: string, option: string] => {
  switch (type.kind) {
    case 'integer':
    case 'number':
    case 'boolean':
    case 'object':
      return [`*${typeName(type)}`, 'omitempty'];
    case 'list':
    case 'map':
      return [typeName(type), 'omitzero'];
    default:
      return [typeName(type), 'omitempty'];
  }
};

const field = (member: Member): readonly [name: string, type: string, tag: string] => {
  const name = goName(member.name);
  if (member.isNullable) return [name, `*${typeName(member.type)}`, `\`json:"${member.name}"\``];
  if (member.isRequired) return [name, typeName(member.type), `\`json:"${member.name}"\``];
  const [type, option] = optional(member.type);
  return [name, type, `\`json:"${member.name},${option}"\``];
};

const structOf = ({ name, doc, members }: ObjectModel): readonly string[] => {
  // A comment between two fields ends the columns of those before it.
  const lines: string[] = [];
  let rows: (readonly string[])[] = [];
  const flush = (): void => {
    lines.push(...aligned(rows, '\t'));
    rows = [];
  };
  for (const member of members) {
    const said = comment(member.doc, '\t');
    if (said.length > 0) {
      flush();
      lines.push(...said);
    }
    rows.push(field(member));
  }
  flush();
  return [
    ...comment(doc === '' ? `${name} is as spec/openapi.yaml has it.` : `${name}: ${doc}`, ''),
    `type ${name} struct {`,
    ...lines,
    '}',
  ];
};

const enumOf = ({ name, doc, values }: EnumModel): readonly string[] => [
  ...comment(`${name} is an open enum: a newer service may send other values. ${doc}`.trim(), ''),
  `type ${name} string`,
  '',
  `// Values of ${name}.`,
  'const (',
  ...aligned(
    values.map((value) => [name + goName(value), name, '=', JSON.stringify(value)]),
    '\t',
  ),
  ')',
];

const PRELUDE = `
// Package wire holds the JSON that the service takes and gives, as structs.
//
// Members that a struct does not have are ignored, and enums keep values that they do not know: a newer service says
// more. A member that is absent is nil, or an empty text. Integers have 64 bits. A member that may hold any JSON is
// kept as its text, so that no number in it loses a digit.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Object is a JSON object as its text. As a member that must be there, a nil Object is written as {}.
type Object json.RawMessage

// MarshalJSON gives the text of the object.
func (o Object) MarshalJSON() ([]byte, error) {
	if o == nil {
		return []byte("{}"), nil
	}
	return o, nil
}

// UnmarshalJSON keeps a copy of the text.
func (o *Object) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		*o = nil
		return nil
	}
	if len(text) == 0 || text[0] != '{' {
		return errors.New("wire: expected a JSON object")
	}
	*o = append((*o)[:0:0], text...)
	return nil
}

// List is a list that is never null: as a member that must be there, a nil List is written as [].
type List[T any] []T

// MarshalJSON gives a JSON array.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// Map is a map by name that is never null: as a member that must be there, a nil Map is written as {}.
type Map[T any] map[string]T

// MarshalJSON gives a JSON object.
func (m Map[T]) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]T(m))
}

// Decode reads any JSON into a type of the caller. Into an any, a number becomes a json.Number, which keeps all digits.
func Decode[T any, J ~[]byte](text J) (T, error) {
	var value T
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&value)
	return value, err
}`;

/** The models as a package of Go 1.25 and later, as gofmt lays it out. */
export const emitGo = ({ specVersion, objects, enums }: Models): string =>
  `${[
    PRELUDE,
    '\n// SpecVersion is that of the data model that this package was made from. A service of another major is not understood.',
    `const SpecVersion = "${specVersion}"`,
    ...enums.map((each) => `\n${enumOf(each).join('\n')}`),
    ...objects.map((each) => `\n${structOf(each).join('\n')}`),
  ].join('\n')}\n`;
