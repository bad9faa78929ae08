"""JSON as values of the types that users annotate: dataclasses, TypedDicts, enums, lists and mappings of them."""

from __future__ import annotations

import dataclasses
import enum
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, Union

from ._wire import Model

_NONE = type(None)
_SEQUENCES: Mapping[Any, Any] = {set: set, frozenset: frozenset, tuple: tuple}


class MismatchError(TypeError):
    """A value is not of the type that was asked for. The message names the member, and holds no value."""


def read_as(value: Any, hint: Any, path: str = "") -> Any:
    """The value as the hint asks for. Members that a dataclass does not know are ignored.

    What this does not know as a type is left as it is: JSON. Raises MismatchError.
    """
    origin = typing.get_origin(hint)
    if origin is not None:
        return _generic(value, hint, origin, path)
    if hint is Any or hint is object or not isinstance(hint, type):
        return value
    if hint is _NONE:
        return _expect(value, value is None, "null", path)
    if issubclass(hint, Model):
        return hint.from_json(value)
    if dataclasses.is_dataclass(hint):
        return _dataclass(value, hint, path)
    if typing.is_typeddict(hint):
        return _typed_dict(value, hint, path)
    if issubclass(hint, enum.Enum):
        try:
            return hint(value)
        except ValueError:
            raise MismatchError(f"{_at(path)}is no {hint.__name__}") from None
    return _plain(value, hint, path)


def _plain(value: Any, hint: type, path: str) -> Any:
    if hint is float:
        return float(_expect(value, isinstance(value, (int, float)) and not isinstance(value, bool), "a number", path))
    if hint is int:
        return _expect(value, isinstance(value, int) and not isinstance(value, bool), "an integer", path)
    if hint in (str, bool, dict, list):
        names = {str: "text", bool: "true or false", dict: "an object", list: "a list"}
        return _expect(value, isinstance(value, hint), names[hint], path)
    if hint in (datetime, date):
        try:
            # Before Python 3.11 a `Z` is not read.
            return hint.fromisoformat(str(value).replace("Z", "+00:00"))
        except ValueError:
            raise MismatchError(f"{_at(path)}is no {hint.__name__} in ISO 8601") from None
    return value


def _generic(value: Any, hint: Any, origin: Any, path: str) -> Any:
    arguments = typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return _union(value, arguments, path)
    if origin is typing.Annotated:
        return read_as(value, arguments[0], path)
    if origin is Literal:
        return _expect(value, value in arguments, " or ".join(map(repr, arguments)), path)
    if origin in (list, set, frozenset, Sequence) or (origin is tuple and arguments[-1] is Ellipsis):
        items = [
            read_as(each, arguments[0], f"{path}[{i}]")
            for i, each in enumerate(_expect(value, isinstance(value, list), "a list", path))
        ]
        return items if origin in (list, Sequence) else _SEQUENCES[origin](items)
    if origin is tuple:
        _expect(value, isinstance(value, list) and len(value) == len(arguments), f"{len(arguments)} items", path)
        return tuple(
            read_as(each, hint, f"{path}[{i}]") for i, (each, hint) in enumerate(zip(value, arguments, strict=True))
        )
    if origin in (dict, Mapping):
        _expect(value, isinstance(value, dict), "an object", path)
        return {name: read_as(each, arguments[1], f"{path}.{name}") for name, each in value.items()}
    if dataclasses.is_dataclass(origin):
        return _dataclass(value, origin, path)
    return value


def _union(value: Any, hints: tuple[Any, ...], path: str) -> Any:
    if value is None and _NONE in hints:
        return None
    fault: MismatchError | None = None
    for hint in hints:
        if hint is _NONE:
            continue
        try:
            return read_as(value, hint, path)
        except (MismatchError, ValueError) as mismatch:
            if fault is None:
                fault = mismatch if isinstance(mismatch, MismatchError) else MismatchError(str(mismatch))
    raise fault or MismatchError(f"{_at(path)}expected null")


def _hints(owner: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(owner, include_extras=False)
    except (NameError, TypeError):
        # Names that exist for a type checker alone: the values stay JSON.
        return {}


def _dataclass(value: Any, kind: Any, path: str) -> Any:
    _expect(value, isinstance(value, dict), f"an object for {kind.__name__}", path)
    hints = _hints(kind)
    members: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        if field.name in value:
            members[field.name] = read_as(value[field.name], hints.get(field.name, Any), f"{path}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise MismatchError(f"{_at(path)}{kind.__name__} lacks `{field.name}`")
    return kind(**members)


def _typed_dict(value: Any, kind: Any, path: str) -> Any:
    _expect(value, isinstance(value, dict), f"an object for {kind.__name__}", path)
    missing = sorted(name for name in kind.__required_keys__ if name not in value)
    if missing:
        raise MismatchError(f"{_at(path)}{kind.__name__} lacks `{missing[0]}`")
    hints = _hints(kind)
    return {name: read_as(each, hints.get(name, Any), f"{path}.{name}") for name, each in value.items()}


def _at(path: str) -> str:
    return f"{path.lstrip('.')}: " if path else ""


def _expect(value: Any, holds: bool, what: str, path: str) -> Any:  # noqa: FBT001
    if not holds:
        raise MismatchError(f"{_at(path)}expected {what}, got {'null' if value is None else type(value).__name__}")
    return value


def parameter_hints(function: Any) -> dict[str, Any]:
    """The annotations of a function's parameters, as types; without those that cannot be read now."""
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError):
        annotations = getattr(function, "__annotations__", {})
        scope = vars(sys.modules.get(getattr(function, "__module__", ""), types))
        read: dict[str, Any] = {}
        for name, annotation in annotations.items():
            read[name] = scope.get(annotation) if isinstance(annotation, str) else annotation
        return {name: hint for name, hint in read.items() if hint is not None}
