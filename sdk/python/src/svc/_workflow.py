from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ._typed import parameter_hints, read_as
from ._wire import ABSENT

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from ._step import Step

B = TypeVar("B", bound="Callable[..., Any]")
_MOST_PARAMETERS = 2


class Body:
    """What serves one step, and how it is called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004  An object with an `async def __call__`.
        )
        self._parameters = self._positional(function)
        hints = parameter_hints(function)
        self._hint: Any = hints.get(self._parameters[1], Any) if len(self._parameters) > 1 else Any

    @staticmethod
    def _positional(function: Callable[..., Any]) -> list[str]:
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = inspect.signature(function).parameters.values()
        names = [each.name for each in parameters if each.kind in kinds]
        needed = [each.name for each in parameters if each.kind in kinds and each.default is inspect.Parameter.empty]
        if not names or len(needed) > _MOST_PARAMETERS:
            title = getattr(function, "__qualname__", repr(function))
            raise TypeError(f"{title} is no body: a body takes its step, and may take its input")
        return names

    def arguments(self, step: Step) -> tuple[Any, ...]:
        """What the body is called with. Raises TypeError where the input is not what it takes."""
        if len(self._parameters) == 1:
            return (step,)
        given = step.lease.input
        return (step, read_as(None if given is ABSENT else given, self._hint, "input"))


class Workflow:
    """A definition and the bodies of its tasks.

    >>> refund = Workflow.load("refund.json")
    >>> @refund.step("pay")
    ... def pay(step: Step, order: Order) -> Receipt: ...
    """

    def __init__(self, definition: Mapping[str, Any]) -> None:
        """Takes the definition as a mapping; the service says what is wrong with it when it is registered."""
        self.definition: dict[str, Any] = dict(definition)
        identity, version, steps = (self.definition.get(name) for name in ("id", "version", "steps"))
        if not isinstance(identity, str) or not isinstance(version, int) or not isinstance(steps, list):
            raise TypeError("a definition is a mapping with `id`, `version` and `steps`")
        self.id: str = identity
        self.version: int = version
        self._tasks = [
            step["id"] for step in steps if isinstance(step, dict) and step.get("kind") == "task" and "id" in step
        ]
        self._bodies: dict[str, Body] = {}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Workflow:
        """Reads the definition from a file of JSON."""
        return cls(json.loads(Path(path).read_text("utf-8")))

    def step(self, step_id: str) -> Callable[[B], B]:
        """Binds a body to a task: a `def` or an `async def` that takes the step and, where it wants, its input.

        The input is read as the type that its parameter is annotated with: a dataclass, a `TypedDict`, a mapping. What
        the body returns is the output of the step. It may run more than once, unless the delivery of the step is
        `at_most_once`: hand `step.key` to whatever it does to the world. Raise `Retryable` to be tried again,
        `StepFailure` for a class of your own; anything else is fatal.
        """
        if step_id not in self._tasks:
            raise ValueError(f"workflow {self.id} version {self.version} has no task {step_id!r}")
        if step_id in self._bodies:
            raise ValueError(f"step {step_id!r} of workflow {self.id} version {self.version} has a body already")

        def bind(body: B) -> B:
            self._bodies[step_id] = Body(body)
            return body

        return bind

    def body_of(self, step_id: str) -> Body | None:
        return self._bodies.get(step_id)

    def without_body(self) -> list[str]:
        """Tasks that no body serves yet."""
        return [task for task in self._tasks if task not in self._bodies]
