"""Ids, times, sampling and the `traceparent` header."""

from __future__ import annotations

import math
import os
import re
import time
from typing import NamedTuple

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?", re.ASCII | re.DOTALL)
_ZERO_TRACE = "0" * 32
_ZERO_SPAN = "0" * 16


class SpanAddress(NamedTuple):
    """A span, as a `traceparent` header names it."""

    trace_id: str
    span_id: str


def parse_traceparent(header: str) -> SpanAddress | None:
    """Reads a `traceparent` header; `None` where it is malformed. See W3C Trace Context, "traceparent Header"."""
    match = _TRACEPARENT.fullmatch(header.strip())
    if match is None:
        return None
    version, trace_id, span_id, more = match.groups()
    if version == "ff" or (version == "00" and more is not None):
        return None
    if trace_id == _ZERO_TRACE or span_id == _ZERO_SPAN:
        return None
    return SpanAddress(trace_id, span_id)


def new_trace_id() -> str:
    while (trace_id := os.urandom(16).hex()) == _ZERO_TRACE:
        pass
    return trace_id


def new_span_id() -> str:
    while (span_id := os.urandom(8).hex()) == _ZERO_SPAN:
        pass
    return span_id


def is_sampled(trace_id: str, fraction: float) -> bool:
    """The rule of the service, so that both keep the same traces: the low 56 bits of the id, as a fraction of 2^56."""
    return fraction >= 1 or int(trace_id[18:], 16) < math.ceil(fraction * 2**56)


_second: tuple[int, str] = (-1, "")


def timestamp(epoch_ns: int) -> str:
    """RFC 3339 in UTC with three, six or nine digits of fraction, as many as there are."""
    global _second  # noqa: PLW0603  The text of the last second: most signals share it.
    seconds, ns = divmod(epoch_ns, 1_000_000_000)
    known, prefix = _second
    if known != seconds:
        prefix = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        _second = (seconds, prefix)
    if ns % 1_000_000 == 0:
        return f"{prefix}.{ns // 1_000_000:03d}Z"
    if ns % 1000 == 0:
        return f"{prefix}.{ns // 1000:06d}Z"
    return f"{prefix}.{ns:09d}Z"
