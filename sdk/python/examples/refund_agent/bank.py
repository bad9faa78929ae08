"""Stands for a bank with an API as banks have them: it fails now and then, and it takes an idempotency key."""

import threading
from dataclasses import dataclass


class BankDown(Exception):  # noqa: N818  It reads as what happened.
    """The bank does not answer."""


@dataclass
class Payment:
    payment: str
    amount: float


_lock = threading.Lock()
_payments: dict[str, Payment] = {}
_refused_once: set[str] = set()


def pay(amount: float, key: str) -> Payment:
    """The first try for a key fails, so that a retry can be seen; a repeated key pays nothing twice."""
    with _lock:
        if key in _payments:
            return _payments[key]
        if key not in _refused_once:
            _refused_once.add(key)
            raise BankDown
        _payments[key] = Payment(f"payment-{len(_payments) + 1}", amount)
        return _payments[key]
