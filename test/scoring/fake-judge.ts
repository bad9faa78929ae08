import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type JudgeCall = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read what was sent freely
  readonly body: any;
};

/** What a model API does with a call; `text` answers a chat completion that says it. */
export type Behaviour = (reply: ServerResponse, call: JudgeCall) => void;

export const completion = (text: string, more: object = {}): string =>
  JSON.stringify({
    id: 'c-1',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    ...more,
  });

export const says =
  (text: string, more: object = {}): Behaviour =>
  (reply) =>
    void reply.setHeader('content-type', 'application/json').end(completion(text, more));

export type FakeJudge = {
  readonly url: string;
  readonly calls: readonly JudgeCall[];
  behave: (behaviour: Behaviour) => void;
  readonly close: () => Promise<void>;
};

/** A model API on a free port of this machine that behaves as the test says, and notes every call. */
export const startFakeJudge = async (): Promise<FakeJudge> => {
  const calls: JudgeCall[] = [];
  let behaviour: Behaviour = says('{"value": 1}');
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const call = {
        path: request.url ?? '',
        headers: request.headers,
        body: JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown,
      };
      calls.push(call);
      behaviour(reply, call);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    behave: (next) => {
      behaviour = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};
