"""Workers, clients and instrumentation for the agent service. Importing it touches no network."""

import logging as _logging

from ._errors import (
    ConnectionFailed,
    IncompatibleServer,
    Retryable,
    RunFailed,
    ServiceError,
    StepFailure,
    StepInterrupted,
    SvcError,
)
from ._export_queue import ExportCounters
from ._instrumentation import Instrumentation
from ._log_handler import LogHandler
from ._retry import RetryPolicy
from ._span import ContextBridge, Span
from ._trace_context import SpanAddress, parse_traceparent
from ._version import __version__

# A library prints nothing unasked.
_logging.getLogger("svc").addHandler(_logging.NullHandler())

__all__ = [
    "ConnectionFailed",
    "ContextBridge",
    "ExportCounters",
    "IncompatibleServer",
    "Instrumentation",
    "LogHandler",
    "RetryPolicy",
    "Retryable",
    "RunFailed",
    "ServiceError",
    "Span",
    "SpanAddress",
    "StepFailure",
    "StepInterrupted",
    "SvcError",
    "__version__",
    "parse_traceparent",
]
