from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._wire import Model


def usage_members(usage: object) -> dict[str, Any]:
    """Usage as a mapping, whether it came as one or as a model."""
    if isinstance(usage, Model):
        return usage.to_json()
    return dict(usage) if isinstance(usage, Mapping) else {}


def _sum(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    total = dict(left)
    for name, value in right.items():
        before = total.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            total[name] = value + before if isinstance(before, (int, float)) else value
        elif isinstance(value, Mapping):
            total[name] = _sum(before if isinstance(before, Mapping) else {}, value)
        elif before is None:
            total[name] = value
    return total


class UsageTotals:
    """Adds up usage by model. A count that nobody gave stays absent: unknown is not zero."""

    def __init__(self) -> None:
        self._by_model: dict[str | None, dict[str, Any]] = {}

    def add(self, model: str | None, usage: object) -> None:
        self._by_model[model] = _sum(self._by_model.get(model, {}), usage_members(usage))

    def list(self) -> list[dict[str, Any]]:
        return [
            {**({} if model is None else {"model": model}), **usage} for model, usage in self._by_model.items() if usage
        ]
