import createClient from 'openapi-fetch';
import { takeEarlyRead } from './early-read.ts';
import { presentedKey } from './key.ts';
import { Problem, problemOf } from './problem.ts';
import { noteAnswer } from './server-clock.ts';
import type { paths } from './types.ts';

/** Adds the reader's key. A service that does not answer is a problem like any other. */
export const askService = async (request: Request): Promise<Response> => {
  const key = presentedKey();
  if (key !== '') request.headers.set('authorization', `Bearer ${key}`);
  const early = takeEarlyRead(request);
  const askedAt = early?.askedAt ?? performance.now();
  try {
    const response = await (early?.answer ?? fetch(request));
    noteAnswer(response, askedAt);
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Problem(0, 'unreachable', 'the service does not answer');
  }
};

/** The API, typed by the document: `ask(api.GET('/v1/api/traces', { params: { query } }))`. */
export const api = createClient<paths>({ baseUrl: location.origin, fetch: askService });

/** What `api` gives. */
type Answer<T> = { readonly data?: T; readonly error?: unknown; readonly response: Response };

/** @throws Problem for every answer that is no success */
export const ask = async <T>(asked: Promise<Answer<T>>): Promise<T> => {
  const { data, error, response } = await asked;
  if (!response.ok) throw problemOf(response, error);
  return data as T;
};
