"""pydantic-ai, instrumented by itself: an agent that calls a tool, over plain OpenTelemetry."""
import os

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
Agent.instrument_all()

model = OpenAIChatModel("gpt-4o-mini", provider=OpenAIProvider(base_url=os.environ["MODEL_URL"], api_key="none"))
agent = Agent(model, name="refund-agent", instructions="You handle refunds.", retries=0)


@agent.tool_plain
def look_up_order(order: str) -> str:
    """Looks an order up."""
    return f"order {order}: 42 EUR"


agent.run_sync("Refund order A-17")
try:
    agent.run_sync("FAIL please")
except Exception:
    pass
provider.force_flush()
provider.shutdown()
