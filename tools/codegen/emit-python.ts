import type { EnumModel, Member, Models, ObjectModel, Type } from './models.ts';
import { wrap } from './text.ts';

const WIDTH = 100;
/** Reserved words among the names of members. */
const RESERVED: ReadonlySet<string> = new Set(['class', 'from', 'continue', 'global', 'is', 'in', 'import', 'pass']);

/** The library takes the underscore off again. */
const attribute = (name: string): string => (RESERVED.has(name) ? `${name}_` : name);

/** A docstring, indented; nothing for an empty text. */
const docstring = (doc: string, indent: string): readonly string[] => {
  const text = doc.replaceAll('\\', '\\\\').replaceAll('`', '``');
  if (text === '') return [];
  // A text of one line has both quotes on it, also in the layout of ruff.
  if (text.length <= WIDTH - indent.length - 6) return [`${indent}"""${text}"""`];
  const [first = '', ...rest] = wrap(text, WIDTH - indent.length - 6);
  return [`${indent}"""${first}`, ...rest.map((line) => indent + line), `${indent}"""`];
};

const annotation = (type: Type): string => {
  switch (type.kind) {
    case 'text':
      return 'str';
    case 'integer':
      return 'int';
    case 'number':
      return 'float';
    case 'boolean':
      return 'bool';
    case 'json':
      return 'Any';
    case 'json_object':
      return 'JsonObject';
    case 'list':
      return `Sequence[${annotation(type.of)}]`;
    case 'map':
      return `Mapping[str, ${annotation(type.of)}]`;
    default:
      return type.name;
  }
};

const field = (member: Member): readonly string[] => {
  const type = annotation(member.type);
  const absent = member.type.kind === 'json' ? 'Any = ABSENT' : `${type} | None = None`;
  const present = member.isNullable ? `${type} | None` : type;
  return [`    ${attribute(member.name)}: ${member.isRequired ? present : absent}`, ...docstring(member.doc, '    ')];
};

const classOf = ({ name, doc, members }: ObjectModel): readonly string[] => [
  // Keywords alone, so that a member without a default may follow one that has it.
  '@dataclass(frozen=True, slots=True, kw_only=True)',
  `class ${name}(Model):`,
  ...(doc === '' ? [] : [...docstring(doc, '    '), '']),
  ...members.flatMap(field),
];

const aliasOf = ({ name, doc, values }: EnumModel): readonly string[] => [
  `${name}: TypeAlias = (`,
  '    Literal[',
  ...values.map((value) => `        ${JSON.stringify(value)},`),
  '    ]',
  '    | str',
  ')',
  ...docstring(doc, ''),
];

const PRELUDE = `"""The JSON that the service takes and gives, as frozen dataclasses.

\`\`from_json\`\` takes what \`\`json.loads\`\` gave, and \`\`to_json\`\` gives what \`\`json.dumps\`\` takes.
Members that a class does not know are ignored, and values that an enum does not know are kept: a
newer service says more. A member that is absent is \`\`None\`\`; where it may hold any JSON, null
among it, it is \`\`ABSENT\`\`.
"""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

_M = TypeVar("_M", bound="Model")

JsonObject: TypeAlias = Mapping[str, Any]
"""An object of any JSON."""


class _Absent:
    """The type of \`\`ABSENT\`\`, which is false, and the same after a copy or a pickle."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""Stands where a member that may hold any JSON is absent: null is a value of it."""


class WireError(ValueError):
    """An answer is not what the interface promises. The message names the member."""


class Model:
    """What all classes of this module have in common."""

    __slots__ = ()

    @classmethod
    def from_json(cls: type[_M], data: object) -> _M:
        """Reads what \`\`json.loads\`\` gave.

        :raises WireError: a member is missing, or is of another type
        """
        if not isinstance(data, dict):
            raise WireError(f"{cls.__name__}: expected an object, got {type(data).__name__}")
        values: dict[str, Any] = {}
        for member in _members(cls):
            value = data.get(member.key, ABSENT)
            if value is None and not member.takes_null:
                value = ABSENT
            if value is not ABSENT:
                try:
                    values[member.attribute] = None if value is None else member.read(value)
                except WireError as error:
                    raise WireError(f"{cls.__name__}.{member.key}: {error}") from None
            elif member.is_required:
                raise WireError(f"{cls.__name__}.{member.key}: is missing")
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        """Gives what \`\`json.dumps\`\` takes, without the members that are absent."""
        out: dict[str, Any] = {}
        for member in _members(type(self)):
            value = getattr(self, member.attribute)
            if value is None and member.takes_null:
                out[member.key] = None
            elif value is not None and value is not ABSENT:
                out[member.key] = member.write(value)
        return out


class _Member(NamedTuple):
    attribute: str
    key: str
    is_required: bool
    takes_null: bool
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


_members_of: dict[type[Model], tuple[_Member, ...]] = {}


def _members(model: type[Model]) -> tuple[_Member, ...]:
    found = _members_of.get(model)
    if found is None:
        found = _members_of[model] = tuple(_read_members(model))
    return found


def _read_members(model: type[Model]) -> Iterator[_Member]:
    hints = typing.get_type_hints(model, vars(sys.modules[__name__]))
    for field in dataclasses.fields(model):  # type: ignore[arg-type]
        hint = hints[field.name]
        required = field.default is dataclasses.MISSING
        is_nullable = required and type(None) in typing.get_args(hint)
        yield _Member(
            attribute=field.name,
            key=field.name.rstrip("_"),
            is_required=required,
            takes_null=hint is Any or is_nullable,
            read=_reader(hint),
            write=_writer(hint),
        )


def _reader(hint: Any) -> Callable[[Any], Any]:
    """What reads a value of the annotation."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Sequence:
        return _list_reader(_reader(arguments[0]))
    if origin is Mapping:
        return _map_reader(_reader(arguments[1]))
    if arguments:
        kinds = [each for each in arguments if each is not type(None)]
        # The known values of an enum and \`\`str\`\`: any text.
        return _text if str in kinds else _reader(kinds[0])
    if isinstance(hint, type) and issubclass(hint, Model):
        return hint.from_json
    return _PLAIN_READERS[hint]


def _list_reader(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read_list(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(read(each) for each in value)
        raise WireError(f"expected a list, got {type(value).__name__}")

    return read_list


def _map_reader(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read_map(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: read(each) for key, each in value.items()}
        raise WireError(f"expected an object, got {type(value).__name__}")

    return read_map


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise WireError(f"expected text, got {type(value).__name__}")


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise WireError(f"expected true or false, got {type(value).__name__}")


def _integer(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise WireError(f"expected an integer, got {type(value).__name__}")


def _number(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    raise WireError(f"expected a number, got {type(value).__name__}")


def _anything(value: Any) -> Any:
    return value


_PLAIN_READERS: dict[Any, Callable[[Any], Any]] = {
    str: _text,
    bool: _boolean,
    int: _integer,
    float: _number,
    Any: _anything,
}


def _writer(hint: Any) -> Callable[[Any], Any]:
    """What makes JSON of a value of the annotation. Any JSON is handed on as it is."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Sequence:
        write_item = _writer(arguments[0])
        return lambda value: [write_item(each) for each in value]
    if origin is Mapping:
        write_value = _writer(arguments[1])
        return lambda value: {key: write_value(each) for key, each in value.items()}
    if arguments and str not in arguments:
        return _writer(next(each for each in arguments if each is not type(None)))
    if isinstance(hint, type) and issubclass(hint, Model):
        return Model.to_json
    return _anything`;

/** The models as a module of Python 3.10 and later, in the layout of ruff at ${WIDTH} columns. */
export const emitPython = ({ specVersion, objects, enums }: Models): string => {
  const constants = ['ABSENT', 'SPEC_VERSION'];
  const classes = ['JsonObject', 'Model', 'WireError', ...[...enums, ...objects].map(({ name }) => name)];
  const names = [...constants, ...classes.toSorted((a, b) => (a < b ? -1 : 1))].map((name) => `    "${name}",`);
  return `${[
    PRELUDE,
    '',
    '',
    `SPEC_VERSION: Final = "${specVersion}"`,
    '"""Of the data model that this module was made from. Another major is not understood."""',
    '',
    enums.map((each) => aliasOf(each).join('\n')).join('\n\n'),
    '',
    '',
    objects.map((each) => classOf(each).join('\n')).join('\n\n\n'),
    '',
    '',
    `__all__ = [`,
    ...names,
    ']',
  ].join('\n')}\n`;
};
