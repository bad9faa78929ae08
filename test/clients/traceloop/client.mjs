// The OpenAI client under Traceloop's SDK: a workflow with a task and a tool around one model call.
import * as traceloop from '@traceloop/node-server-sdk';
import OpenAI from 'openai';

const { SVC_URL, MODEL_URL } = process.env;
traceloop.initialize({
  appName: 'refund-bot',
  baseUrl: SVC_URL,
  apiKey: 'none',
  disableBatch: true,
  silenceInitializationMessage: true,
  instrumentModules: { openAI: OpenAI },
});
const client = new OpenAI({ apiKey: 'none', baseURL: MODEL_URL });
await traceloop.withAssociationProperties({ user_id: 'user-tl', session_id: 'session-tl' }, () =>
  traceloop.withWorkflow({ name: 'refund' }, async () => {
    await traceloop.withTool({ name: 'look_up_order' }, async () => ({ order: 'A-17' }));
    return client.chat.completions.create({
      model: 'gpt-4o-mini',
      messages: [{ role: 'user', content: 'Refund order A-17' }],
    });
  }),
);
await traceloop.forceFlush();
