from __future__ import annotations

import enum
import unittest
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal, Optional, TypedDict, Union

from svc._typed import MismatchError, read_as


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Line:
    name: str
    price: float


@dataclass
class Order:
    amount: int
    lines: list[Line] = field(default_factory=list)
    colour: Colour | None = None
    note: str | None = None
    by: Literal["web", "desk"] = "web"


class Ticket(TypedDict, total=False):
    id: str
    amount: float


class Needed(TypedDict):
    id: str


class ReadAs(unittest.TestCase):
    def test_a_dataclass_is_read_with_what_it_holds(self) -> None:
        value = {"amount": 1, "lines": [{"name": "a", "price": 2}], "colour": "red", "note": None, "unknown": True}
        self.assertEqual(read_as(value, Order), Order(1, [Line("a", 2.0)], Colour.RED, None))

    def test_a_fault_names_its_place_and_no_value(self) -> None:
        for value, words in (
            ({}, "Order lacks `amount`"),
            ({"amount": "secret"}, "amount: expected an integer, got str"),
            ({"amount": True}, "amount: expected an integer, got bool"),
            ({"amount": 1, "lines": [{"name": "a"}]}, "lines[0]: Line lacks `price`"),
            ({"amount": 1, "colour": "blue"}, "colour: is no Colour"),
            ({"amount": 1, "by": "secret"}, "by: expected 'web' or 'desk'"),
            ([], "expected an object for Order, got list"),
        ):
            with self.subTest(words), self.assertRaises(MismatchError) as raised:
                read_as(value, Order)
            self.assertIn(words, str(raised.exception))
            self.assertNotIn("secret", str(raised.exception))

    def test_typed_dicts_stay_mappings(self) -> None:
        self.assertEqual(read_as({"id": "t", "more": 1}, Ticket), {"id": "t", "more": 1})
        with self.assertRaisesRegex(MismatchError, "Needed lacks `id`"):
            read_as({}, Needed)
        with self.assertRaisesRegex(MismatchError, "amount: expected a number"):
            read_as({"amount": "x"}, Ticket)

    def test_containers_and_unions(self) -> None:
        self.assertEqual(read_as([1, 2], list[int]), [1, 2])
        self.assertEqual(read_as([1, 2], Sequence[float]), [1.0, 2.0])
        self.assertEqual(read_as([1, "a"], tuple[int, str]), (1, "a"))
        self.assertEqual(read_as([1, 2], tuple[int, ...]), (1, 2))
        self.assertEqual(read_as(["a", "a"], set[str]), {"a"})
        self.assertEqual(read_as({"a": 1}, dict[str, int]), {"a": 1})
        self.assertEqual(read_as({"a": {"name": "n", "price": 1}}, Mapping[str, Line]), {"a": Line("n", 1.0)})
        self.assertEqual(read_as("a", Union[int, str]), "a")  # noqa: UP007  Both spellings.
        self.assertIsNone(read_as(None, Optional[int]))  # noqa: UP045
        for value, hint in (([1], tuple[int, int]), ({}, list[int]), ([], dict[str, int]), ([], int | str)):
            with self.subTest(hint), self.assertRaises(MismatchError):
                read_as(value, hint)

    def test_what_it_does_not_know_stays_json(self) -> None:
        self.assertEqual(read_as({"a": 1}, Any), {"a": 1})
        self.assertEqual(read_as({"a": 1}, object), {"a": 1})
        at = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)
        self.assertEqual(read_as("2026-11-20T09:00:00Z", datetime), at)
        with self.assertRaises(MismatchError):
            read_as("soon", datetime)


if __name__ == "__main__":
    unittest.main()
