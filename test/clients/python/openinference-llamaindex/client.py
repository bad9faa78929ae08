"""LlamaIndex under OpenInference: a chat call and one that fails."""
import os

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAI
from openinference.instrumentation import using_attributes
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
LlamaIndexInstrumentor().instrument(tracer_provider=provider)

llm = OpenAI(model="gpt-4o-mini", api_key="none", api_base=os.environ["MODEL_URL"], max_retries=0)
with using_attributes(session_id="session-li", user_id="user-li"):
    llm.chat([ChatMessage(role="system", content="You handle refunds."), ChatMessage(role="user", content="Refund order A-17")])
    try:
        llm.chat([ChatMessage(role="user", content="FAIL please")])
    except Exception:
        pass
provider.force_flush()
provider.shutdown()
