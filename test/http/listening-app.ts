import type { FastifyInstance } from 'fastify';
import { type AppDeps, type AppOptions, buildApp } from '../../src/http/app.ts';
import { parseTrustedRanges } from '../../src/http/access/peer.ts';
import { createAnswerRoom } from '../../src/http/answer/answer-room.ts';
import { createStreamRegistry } from '../../src/http/answer/streams.ts';
import { watchStatuses } from './documented.ts';

type Parts = Omit<AppDeps, 'streams' | 'answers' | 'options'> & {
  readonly answers?: AppDeps['answers'];
  readonly streams?: AppDeps['streams'];
  readonly options?: Partial<AppOptions>;
};

/** The service on a free port of this machine, with the daemon's defaults where a test says nothing. */
export const listeningApp = async (parts: Parts): Promise<{ app: FastifyInstance; url: string }> => {
  const app = buildApp({
    streams: createStreamRegistry(),
    answers: createAnswerRoom(parts.counters),
    ...parts,
    options: {
      requestTimeoutSeconds: 30,
      corsOrigins: ['*'],
      auditSubjectHeader: 'x-svc-subject',
      auditTrustedRanges: parseTrustedRanges([]),
      defaultProject: 'default',
      quietMs: 0,
      ...parts.options,
    },
  });
  const unlisted = watchStatuses(app.server);
  app.addHook('onClose', async () => {
    if (unlisted.length > 0) throw new Error(`statuses that openapi.yaml does not list: ${unlisted.join(', ')}`);
  });
  return { app, url: await app.listen({ host: '127.0.0.1', port: 0 }) };
};

// oxlint-disable-next-line typescript/no-explicit-any -- a test reads answers freely, and fails where they are not as it says
export type Answer = { readonly status: number; readonly headers: Headers; readonly text: string; readonly body: any };

/** An answer whole; its body where it is JSON. */
export const readAnswer = async (response: Response): Promise<Answer> => {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && text !== '';
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
};
