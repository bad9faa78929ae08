from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from ._errors import IncompatibleServer, SvcError
from ._http import Request

if TYPE_CHECKING:
    from ._http import Http
    from ._signal import Signal

UNDERSTOOD = "1.0"
"""The version of the data model that this library was written for."""
_TIMEOUT_SECONDS = 5.0


class SpecCheck:
    """Asks the service once for its `spec_version`. Without an answer it is asked again the next time.

    Those who ask together share one call.
    """

    def __init__(self, http: Http) -> None:
        self._http = http
        self._lock = threading.Lock()
        self._asking: threading.Event | None = None
        """Set at the end of the call under way; `None` while there is none."""
        self._fault: IncompatibleServer | None = None
        self._known = False
        self._pid = os.getpid()

    def ensure(self, signal: Signal | None = None) -> None:
        """Raises IncompatibleServer when the service has another major version. No answer is no fault."""
        if self._pid != os.getpid():
            # The thread that asks, and the holder of the lock, are the parent's.
            self._lock, self._asking, self._pid = threading.Lock(), None, os.getpid()
        with self._lock:
            asking = None if self._known else self._asking
            asks = not self._known and asking is None
            if asks:
                self._asking = threading.Event()
        if asks:
            self._ask(signal)
        elif asking is not None:
            asking.wait()
        if self._fault is not None:
            raise self._fault

    def _ask(self, signal: Signal | None) -> None:
        try:
            answer = self._http.call(Request("GET", "/healthz", timeout=_TIMEOUT_SECONDS), signal)
        except SvcError:
            return
        else:
            served = answer.get("spec_version") if isinstance(answer, dict) else None
            if isinstance(served, str) and served.split(".")[0] != UNDERSTOOD.split(".", maxsplit=1)[0]:
                self._fault = IncompatibleServer(served, UNDERSTOOD)
            self._known = True
        finally:
            with self._lock:
                asked, self._asking = self._asking, None
            if asked is not None:
                asked.set()
