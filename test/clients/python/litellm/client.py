"""LiteLLM with its own OpenTelemetry callback: a call, one that asks for a tool, and one that fails."""
import os

import litellm

litellm.callbacks = ["otel"]
litellm.suppress_debug_info = True


def common() -> dict:
    return {
        "model": "openai/gpt-4o-mini",
        "api_base": os.environ["MODEL_URL"],
        "api_key": "none",
        "num_retries": 0,
        "metadata": {"user_id": "user-ll", "session_id": "session-ll", "thread_id": "thread-ll"},
    }


litellm.completion(messages=[{"role": "user", "content": "Refund order A-17"}], user="user-ll", **common())
tool = {
    "type": "function",
    "function": {
        "name": "look_up_order",
        "description": "Looks an order up.",
        "parameters": {"type": "object", "properties": {"order": {"type": "string"}}},
    },
}
litellm.completion(messages=[{"role": "user", "content": "Refund order A-17"}], tools=[tool], **common())
try:
    litellm.completion(messages=[{"role": "user", "content": "FAIL please"}], **common())
except Exception:
    pass

from litellm.litellm_core_utils.thread_pool_executor import executor
from opentelemetry import trace

# Its callbacks run in threads of their own.
executor.shutdown(wait=True)
provider = trace.get_tracer_provider()
provider.force_flush()
provider.shutdown()
