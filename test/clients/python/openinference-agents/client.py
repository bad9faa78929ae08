"""The OpenAI Agents SDK under OpenInference: an agent that calls a tool."""
import os

from agents import Agent, Runner, function_tool, set_default_openai_api, set_default_openai_client
from openai import AsyncOpenAI
from openinference.instrumentation import using_attributes
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
set_default_openai_client(AsyncOpenAI(api_key="none", base_url=os.environ["MODEL_URL"], max_retries=0), use_for_tracing=False)
set_default_openai_api("chat_completions")


@function_tool
def look_up_order(order: str) -> str:
    """Looks an order up."""
    return f"order {order}: 42 EUR"


agent = Agent(name="refund-agent", instructions="You handle refunds.", tools=[look_up_order], model="gpt-4o-mini")
with using_attributes(session_id="session-oa", user_id="user-oa"):
    Runner.run_sync(agent, "Refund order A-17")
    try:
        Runner.run_sync(Agent(name="broken", model="gpt-4o-mini"), "FAIL please")
    except Exception:
        pass
provider.force_flush()
provider.shutdown()
