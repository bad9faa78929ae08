"""Stands for a model: it takes a moment, counts tokens, and does the same thing every time."""

import asyncio
import json
import math
import re
from dataclasses import dataclass
from typing import TypedDict

MODEL = "gpt-4o-mini"
"""The name under which the price book knows the model that this one plays."""


class Tokens(TypedDict):
    input_tokens: int
    output_tokens: int


@dataclass
class Judgement:
    confidence: float
    reason: str


def _tokens_of(text: str) -> int:
    return math.ceil(len(text) / 4)


async def judge(complaint: str) -> tuple[Judgement, Tokens]:
    """Reads a complaint the way a careful agent would."""
    await asyncio.sleep(0.3)
    if re.search("broken|damaged|never arrived|wrong", complaint, re.IGNORECASE):
        judgement = Judgement(0.93, "the customer names a fault that the terms cover")
    else:
        judgement = Judgement(0.55, "the complaint names no fault that the terms cover")
    written = json.dumps(vars(judgement))
    return judgement, {"input_tokens": 220 + _tokens_of(complaint), "output_tokens": _tokens_of(written)}


async def apologise(complaint: str) -> tuple[str, Tokens]:
    """Writes the answer to a customer whose refund was refused."""
    await asyncio.sleep(0.3)
    text = "We are sorry. A colleague looked at your case, and we cannot refund it under our terms."
    return text, {"input_tokens": 180 + _tokens_of(complaint), "output_tokens": _tokens_of(text)}
