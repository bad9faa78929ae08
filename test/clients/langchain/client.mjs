// A LangChain chain with a chat model, under OpenInference's LangChain instrumentation.
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbackManager from '@langchain/core/callbacks/manager';
import { StringOutputParser } from '@langchain/core/output_parsers';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { ChatOpenAI } from '@langchain/openai';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

const { SVC_URL, MODEL_URL } = process.env;
const provider = new NodeTracerProvider({
  resource: detectResources({ detectors: [envDetector] }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: `${SVC_URL}/v1/traces` }))],
});
provider.register();
new LangChainInstrumentation().manuallyInstrument(callbackManager);

const model = new ChatOpenAI({ model: 'gpt-4o-mini', apiKey: 'none', configuration: { baseURL: MODEL_URL } });
const chain = ChatPromptTemplate.fromMessages([['user', 'Refund order {order}']])
  .pipe(model)
  .pipe(new StringOutputParser());
await chain.invoke({ order: 'A-17' }, { metadata: { session_id: 'session-lc' } });
await provider.forceFlush();
await provider.shutdown();
