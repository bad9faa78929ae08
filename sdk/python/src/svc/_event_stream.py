from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._errors import ConnectionFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._http import ByteStream

_LINE_LIMIT_CHARACTERS = 64 * 1024 * 1024
"""A line longer than this is no event of ours."""
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class StreamEvent:
    """One event of a server-sent stream."""

    data: str
    id: str | None = None
    event: str | None = None


def read_events(stream: ByteStream, idle_seconds: float) -> Iterator[StreamEvent]:
    """Reads server-sent events. Comments, the service's sign of life, only keep the stream from being taken for dead.

    Raises ConnectionFailed when the stream breaks, or is silent for so long. See WHATWG HTML, 9.2.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    buffered = ""
    half_ended = False
    last_id: str | None = None
    event: str | None = None
    data: list[str] = []
    while piece := stream.read(idle_seconds):
        text = decoder.decode(piece)
        if not text:
            continue
        # A carriage return ends a line at once; the line feed that may follow it belongs to it.
        buffered += text.removeprefix("\n") if half_ended else text
        half_ended = text.endswith("\r")
        if len(buffered) > _LINE_LIMIT_CHARACTERS:
            raise ConnectionFailed("the stream holds a line without an end")
        *lines, buffered = _LINE_END.split(buffered)
        for line in lines:
            if not line:
                if data:
                    yield StreamEvent("\n".join(data), last_id, event)
                data, event = [], None
                continue
            name, colon, value = line.partition(":")
            if not name and colon:
                continue
            value = value.removeprefix(" ")
            if name == "data":
                data.append(value)
            elif name == "id":
                last_id = value
            elif name == "event":
                event = value
