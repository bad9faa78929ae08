"""Workers, clients and instrumentation for the agent service. Importing it touches no network."""

import logging as _logging

from ._async_client import AsyncClient, AsyncRunHandle
from ._client import Client
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
from ._run_handle import RunHandle
from ._span import ContextBridge, Span
from ._step import Step
from ._trace_context import SpanAddress, parse_traceparent
from ._version import __version__
from ._wire import ABSENT, ChangedSchedule, JournalEntry, Lease, ReportedUsage, Run, RunDetail, RunFilter, ScheduleInput
from ._worker import Worker
from ._workflow import Workflow

# A library prints nothing unasked.
_logging.getLogger("svc").addHandler(_logging.NullHandler())

__all__ = [
    "ABSENT",
    "AsyncClient",
    "AsyncRunHandle",
    "ChangedSchedule",
    "Client",
    "ConnectionFailed",
    "ContextBridge",
    "ExportCounters",
    "IncompatibleServer",
    "Instrumentation",
    "JournalEntry",
    "Lease",
    "LogHandler",
    "ReportedUsage",
    "RetryPolicy",
    "Retryable",
    "Run",
    "RunDetail",
    "RunFailed",
    "RunFilter",
    "RunHandle",
    "ScheduleInput",
    "ServiceError",
    "Span",
    "SpanAddress",
    "Step",
    "StepFailure",
    "StepInterrupted",
    "SvcError",
    "Worker",
    "Workflow",
    "__version__",
    "parse_traceparent",
]
