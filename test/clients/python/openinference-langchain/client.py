"""LangChain under OpenInference: a chain with a model call, an agent with a tool, and metadata that names the person."""
import os

from langchain.agents import create_agent
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
LangChainInstrumentor().instrument(tracer_provider=provider)


@tool
def look_up_order(order: str) -> str:
    """Looks an order up."""
    return f"order {order}: 42 EUR"


model = ChatOpenAI(model="gpt-4o-mini", api_key="none", base_url=os.environ["MODEL_URL"], max_retries=0)
person = {"metadata": {"user_id": "user-lc", "session_id": "session-lc", "thread_id": "thread-lc"}}
prompt = ChatPromptTemplate.from_messages([("system", "You handle refunds."), ("user", "{question}")])
(prompt | model).invoke({"question": "Refund order A-17"}, config=person)
agent = create_agent(model, tools=[look_up_order], name="refund-agent")
agent.invoke({"messages": [{"role": "user", "content": "Refund order A-17"}]}, config=person)
try:
    model.invoke("FAIL please", config=person)
except Exception:
    pass
provider.force_flush()
provider.shutdown()
