"""Traceloop's SDK: a workflow with a tool and a model call, and one that fails."""
import os

from openai import OpenAI
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import agent, tool, workflow

Traceloop.init(
    app_name="refund-bot",
    api_endpoint=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"],
    disable_batch=True,
    telemetry_enabled=False,
    resource_attributes={"svc.project": os.environ["SVC_PROJECT_NAME"]},
)
client = OpenAI(api_key="none", base_url=os.environ["MODEL_URL"], max_retries=0)


@tool(name="look_up_order")
def look_up_order(order: str) -> dict:
    return {"order": order, "amount": 42}


@agent(name="refund-agent")
def refund_agent(order: str) -> str:
    found = look_up_order(order)
    answer = client.chat.completions.create(
        model="gpt-4o-mini",
        messages=[{"role": "user", "content": f"Refund order {found['order']}"}],
    )
    return answer.choices[0].message.content


@workflow(name="refund")
def refund(order: str) -> str:
    Traceloop.set_association_properties({"user_id": "user-tl", "session_id": "session-tl"})
    answer = refund_agent(order)
    try:
        client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": "FAIL please"}])
    except Exception:
        pass
    return answer


refund("A-17")
