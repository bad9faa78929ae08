"""The OpenAI client under OpenInference: a call, a streamed call, and one that fails."""
import os

from openai import BadRequestError, OpenAI
from openinference.instrumentation import using_attributes
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
OpenAIInstrumentor().instrument(tracer_provider=provider)

client = OpenAI(api_key="none", base_url=os.environ["MODEL_URL"], max_retries=0)
messages = [
    {"role": "system", "content": "You handle refunds."},
    {"role": "user", "content": "Refund order A-17"},
]
with using_attributes(session_id="session-oi", user_id="user-oi", tags=["gold"], metadata={"plan": "gold"}):
    client.chat.completions.create(model="gpt-4o-mini", messages=messages)
    stream = client.chat.completions.create(
        model="gpt-4o-mini", messages=messages, stream=True, stream_options={"include_usage": True}
    )
    for _ in stream:
        pass
    try:
        client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": "FAIL please"}])
    except BadRequestError:
        pass
provider.force_flush()
provider.shutdown()
