"""Logfire's SDK pointed at another backend: the OpenAI client, plain and streamed, and a failed call."""
import os

import logfire
from openai import OpenAI

logfire.configure(send_to_logfire=False, service_name="refund-bot", console=False)
client = OpenAI(api_key="none", base_url=os.environ["MODEL_URL"], max_retries=0)
logfire.instrument_openai(client)
messages = [
    {"role": "system", "content": "You handle refunds."},
    {"role": "user", "content": "Refund order A-17"},
]
with logfire.span("refund {order}", order="A-17"):
    client.chat.completions.create(model="gpt-4o-mini", messages=messages)
    with client.chat.completions.create(
        model="gpt-4o-mini", messages=messages, stream=True, stream_options={"include_usage": True}
    ) as stream:
        for _ in stream:
            pass
    try:
        client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": "FAIL please"}])
    except Exception:
        pass
logfire.force_flush()
logfire.shutdown()
