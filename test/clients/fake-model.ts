import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the fake model reports for every call, so that tests can assert tokens and cost to the last digit. */
export const FAKE_USAGE = { prompt: 1000, cached: 400, completion: 50, reasoning: 10, total: 1050 } as const;
export const FAKE_ANSWER = 'The refund was approved.';
export const FAKE_MODEL = 'gpt-4o-mini';
/** A call whose last message holds these words is refused with status 400. */
export const FAKE_WRONG_PROMPT = 'FAIL please';
export const FAKE_REFUSAL = 'the model refuses';

type ChatRequest = {
  readonly model: string;
  readonly messages: readonly { readonly role: string }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly stream?: boolean;
};

const usage = {
  prompt_tokens: FAKE_USAGE.prompt,
  completion_tokens: FAKE_USAGE.completion,
  total_tokens: FAKE_USAGE.total,
  prompt_tokens_details: { cached_tokens: FAKE_USAGE.cached },
  completion_tokens_details: { reasoning_tokens: FAKE_USAGE.reasoning },
};

const head = (model: string) => ({ id: 'chatcmpl-fake', created: 1_790_000_000, model });

const answerOf = (request: ChatRequest) => {
  const tool = request.tools?.[0];
  const answered = request.messages.some((message) => message.role === 'tool');
  return tool !== undefined && !answered
    ? {
        message: {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: tool.function.name, arguments: '{"order":"A-17"}' } },
          ],
        },
        finish_reason: 'tool_calls',
      }
    : { message: { role: 'assistant', content: FAKE_ANSWER }, finish_reason: 'stop' };
};

/** A model server that speaks chat completions (plain and streamed, with one tool call) and embeddings, on loopback. */
export const startFakeModel = async (): Promise<{ url: string; close: () => Promise<void> }> => {
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as ChatRequest;
      if (request.url?.endsWith('/embeddings')) {
        response.setHeader('content-type', 'application/json');
        response.end(
          JSON.stringify({
            object: 'list',
            model: body.model,
            data: [{ object: 'embedding', index: 0, embedding: [0.1, 0.2, 0.3] }],
            usage: { prompt_tokens: 8, total_tokens: 8 },
          }),
        );
        return;
      }
      if (JSON.stringify(body.messages.at(-1)).includes(FAKE_WRONG_PROMPT)) {
        response.statusCode = 400;
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ error: { message: FAKE_REFUSAL, type: 'invalid_request_error' } }));
        return;
      }
      const answer = answerOf(body);
      if (body.stream !== true) {
        response.setHeader('content-type', 'application/json');
        const choices = [{ index: 0, ...answer }];
        response.end(JSON.stringify({ ...head(body.model), object: 'chat.completion', choices, usage }));
        return;
      }
      response.setHeader('content-type', 'text/event-stream');
      const send = (part: object) =>
        response.write(
          `data: ${JSON.stringify({ ...head(body.model), object: 'chat.completion.chunk', ...part })}\n\n`,
        );
      for (const word of FAKE_ANSWER.split(/(?<= )/))
        send({ choices: [{ index: 0, delta: { role: 'assistant', content: word }, finish_reason: null }] });
      send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
      send({ choices: [], usage });
      response.end('data: [DONE]\n\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    close: () => new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve()))),
  };
};
