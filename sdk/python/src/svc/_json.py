"""JSON as it travels: exact integers, any text, no NaN."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
import os
import uuid
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from ._wire import Model


def _plain(value: Any) -> Any:
    """What JSON can say of a value that is not JSON. Raises TypeError where that is nothing."""
    if isinstance(value, Model):
        return value.to_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, (uuid.UUID, decimal.Decimal)):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, AbstractSet):
        return list(value)
    # What the clients of model APIs answer with.
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    raise TypeError(f"a value of type {type(value).__name__} is not JSON")


_unescaped = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
_escaped = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=_plain)


def encode(value: object) -> bytes:
    """JSON in UTF-8. Raises TypeError, ValueError or RecursionError on what is not JSON."""
    try:
        return _unescaped.encode(value).encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair is no UTF-8, but JSON can say it.
        return _escaped.encode(value).encode()


def decode(text: bytes) -> Any:
    """Raises ValueError or RecursionError on what is not JSON."""
    return json.loads(text)
