from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ._span import error_fields

if TYPE_CHECKING:
    from ._instrumentation import Instrumentation
    from ._wire import Severity

# What every record has; the rest was given by `extra`.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_PLAIN = (str, int, float, bool, type(None), list, tuple, dict)


def _severity(level: int) -> Severity:
    if level >= logging.CRITICAL:
        return "fatal"
    if level >= logging.ERROR:
        return "error"
    if level >= logging.WARNING:
        return "warn"
    if level >= logging.INFO:
        return "info"
    return "debug" if level >= logging.DEBUG else "trace"


class LogHandler(logging.Handler):
    """Records of `logging` as log signals, each on the span around the call.

    >>> logging.getLogger().addHandler(LogHandler(instrumentation))
    """

    def __init__(self, instrumentation: Instrumentation, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self._instrumentation = instrumentation

    def emit(self, record: logging.LogRecord) -> None:
        # What this library says of its own troubles would come back here.
        if record.name == "svc" or record.name.startswith("svc."):
            return
        try:
            attributes: dict[str, Any] = {
                # An object that is not JSON would cost the record.
                name: value if isinstance(value, _PLAIN) else str(value)
                for name, value in vars(record).items()
                if name not in _OWN
            }
            if record.exc_info is not None and record.exc_info[1] is not None:
                error = error_fields(record.exc_info[1])
                attributes["exception.type"] = error["type"]
                attributes["exception.message"] = error["message"]
                if "stack" in error:
                    attributes["exception.stacktrace"] = error["stack"]
            self._instrumentation.log(
                _severity(record.levelno), record.getMessage(), logger=record.name, attributes=attributes
            )
        except Exception:
            # Such as arguments that do not fit their message.
            self._instrumentation.count_invalid()
