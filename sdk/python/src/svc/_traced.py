"""Functions of every kind, run under a span."""

from __future__ import annotations

import functools
import inspect
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from ._span import Span

F = TypeVar("F", bound="Callable[..., Any]")


class _Entered:
    """The span is the parent of what runs inside; it goes on after it."""

    __slots__ = ("_span",)

    def __init__(self, span: Span) -> None:
        self._span = span

    def __enter__(self) -> None:
        self._span.enter()

    def __exit__(self, *_: object) -> None:
        self._span.leave()


class Recorder:
    """Starts the span of one call of a function, and records what is asked for."""

    def __init__(
        self, function: Callable[..., Any], start: Callable[[], Span], *, record_input: bool, record_output: bool
    ) -> None:
        self._function = function
        self._start = start
        self._record_input = record_input
        self._record_output = record_output

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Span:
        span = self._start()
        if self._record_input:
            # What does not fit the function is the function's to refuse.
            with suppress(TypeError, ValueError):
                given = inspect.signature(self._function).bind(*args, **kwargs).arguments
                span.set(input={name: value for name, value in given.items() if name not in ("self", "cls")})
        return span

    def result(self, span: Span, value: Any) -> Any:
        if self._record_output:
            span.set(output=value)
        return value


def traced(function: F, recorder: Recorder) -> F:
    """Wraps a function, coroutine function, generator or async generator. What it raises goes on as it is."""
    wrapper: Callable[..., Any]
    if inspect.isasyncgenfunction(function):
        wrapper = _async_generator(function, recorder)
    elif inspect.isgeneratorfunction(function):
        wrapper = _generator(function, recorder)
    elif inspect.iscoroutinefunction(function):
        wrapper = _coroutine(function, recorder)
    else:
        wrapper = _function(function, recorder)
    return functools.wraps(function)(wrapper)  # type: ignore[return-value]  # It takes and gives what the function does.


def _function(function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with recorder.begin(args, kwargs) as span:
            return recorder.result(span, function(*args, **kwargs))

    return wrapper


def _coroutine(function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        with recorder.begin(args, kwargs) as span:
            return recorder.result(span, await function(*args, **kwargs))

    return wrapper


def _generator(function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        span = recorder.begin(args, kwargs)
        inner = function(*args, **kwargs)
        try:
            with _Entered(span):
                value = next(inner)
            while True:
                try:
                    sent = yield value
                except GeneratorExit:
                    with _Entered(span):
                        inner.close()
                    raise
                except BaseException as error:
                    # The generator's to answer.
                    with _Entered(span):
                        value = inner.throw(error)
                else:
                    with _Entered(span):
                        value = inner.send(sent)
        except StopIteration as end:
            return recorder.result(span, end.value)
        except GeneratorExit:
            # Closed by its reader, which is no failure.
            raise
        except BaseException as error:
            span.fail(error)
            raise
        finally:
            span.end()

    return wrapper


def _async_generator(function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        span = recorder.begin(args, kwargs)
        inner = function(*args, **kwargs)
        try:
            with _Entered(span):
                value = await inner.__anext__()
            while True:
                try:
                    sent = yield value
                except GeneratorExit:
                    with _Entered(span):
                        await inner.aclose()
                    raise
                except BaseException as error:
                    with _Entered(span):
                        value = await inner.athrow(error)
                else:
                    with _Entered(span):
                        value = await inner.asend(sent)
        except StopAsyncIteration:
            return
        except GeneratorExit:
            raise
        except BaseException as error:
            span.fail(error)
            raise
        finally:
            span.end()

    return wrapper
