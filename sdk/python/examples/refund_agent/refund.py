"""The bodies of the refund agent's tasks. Workers in other languages serve the same definition."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import bank
import fake_model

import svc

DEFINITION = Path(__file__).parents[4] / "examples" / "refund-agent" / "refund.json"

refund = svc.Workflow.load(DEFINITION)


@dataclass
class Ticket:
    id: str
    text: str
    amount: float


@dataclass
class Case:
    ticket: Ticket


class Amount(TypedDict):
    amount: float


@refund.step("triage")
async def triage(step: svc.Step, case: Case) -> fake_model.Judgement:
    with step.span(
        "judge the complaint",
        kind="model_generation",
        model=fake_model.MODEL,
        provider="openai",
        input=case.ticket.text,
    ) as span:
        judgement, usage = await fake_model.judge(case.ticket.text)
        span.set(output=judgement, usage=usage)
    step.patch_state(vars(judgement))
    return judgement


# A `def`: it runs in a thread. Paid once, however often it runs: the key is the same for every attempt.
@refund.step("pay")
def pay(step: svc.Step, order: Amount) -> bank.Payment:
    with step.span("call the bank", kind="tool_call", entity_name="bank", input=order):
        try:
            return bank.pay(order["amount"], step.key)
        except bank.BankDown as down:
            raise svc.Retryable("the bank does not answer") from down


@refund.step("apologise")
async def apologise(step: svc.Step, case: Case) -> dict[str, str]:
    with step.span(
        "write to the customer",
        kind="model_generation",
        model=fake_model.MODEL,
        provider="openai",
        input=case.ticket.text,
    ) as span:
        text, usage = await fake_model.apologise(case.ticket.text)
        span.set(output=text, usage=usage)
    return {"text": text}
