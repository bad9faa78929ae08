/** How a stored batch is held to what was sent, and the files to their own rules. */
import Database from 'better-sqlite3';
import { type Agent, request } from 'undici';
import { COST_PER_SPAN, type Entry } from './ledger.ts';

type Detail = {
  readonly trace: { span_count: number; cost?: { total_cost: number } };
  readonly spans: readonly unknown[];
  readonly scores?: readonly unknown[];
  readonly feedback?: readonly unknown[];
  readonly logs?: readonly unknown[];
};

export type Posted = { readonly status: number; readonly duplicate: number; readonly text: string };

/** Sends a batch. @throws Error when it was taken but signals of it were refused, or when the connection broke */
export const post = async (url: string, entry: Entry, dispatcher: Agent): Promise<Posted> => {
  const { statusCode, body } = await request(`${url}${entry.door === 'otlp' ? '/v1/traces' : '/v1/ingest'}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: entry.body,
    dispatcher,
  });
  const text = await body.text();
  if (statusCode !== 200) return { status: statusCode, duplicate: 0, text };
  const reply = JSON.parse(text) as {
    partialSuccess?: { rejectedSpans?: number };
    rejected?: number;
    duplicate?: number;
  };
  if ((reply.partialSuccess?.rejectedSpans ?? reply.rejected ?? 0) !== 0) throw new Error(`refused signals: ${text}`);
  return { status: statusCode, duplicate: reply.duplicate ?? 0, text };
};

const read = async <T>(url: string, dispatcher: Agent): Promise<T | undefined> => {
  const { statusCode, body } = await request(url, { dispatcher });
  const text = await body.text();
  if (statusCode === 404) return undefined;
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}: ${text}`);
  return JSON.parse(text) as T;
};

/** How many traces hold all these words in one span. */
const searched = async (url: string, q: string, dispatcher: Agent): Promise<number> =>
  (await read<{ traces: unknown[] }>(`${url}/v1/api/traces?q=${encodeURIComponent(q)}`, dispatcher))?.traces.length ??
  0;

/** Says what is wrong with a stored batch, or nothing when it is whole. */
const faultIn = (entry: Entry, detail: Detail): string | undefined => {
  const cost = detail.trace.cost?.total_cost ?? 0;
  if (detail.spans.length !== entry.spans) return `${detail.spans.length} of ${entry.spans} spans`;
  if (detail.trace.span_count !== entry.spans) return `the summary counts ${detail.trace.span_count} of ${entry.spans}`;
  if (Math.abs(cost - entry.spans * COST_PER_SPAN) > 1e-9) return `a total cost of ${cost}`;
  if (entry.door === 'otlp') return undefined;
  for (const part of ['scores', 'feedback', 'logs'] as const)
    if (detail[part]?.length !== 1) return `${detail[part]?.length ?? 'no'} ${part} instead of one`;
  return undefined;
};

export type Found = 'whole' | 'absent' | { readonly fault: string };

/**
 * Looks a batch up by its id and by its words: both ways it is there whole, or both ways it is not there.
 * The first and the last span are searched by a phrase, which is read in the stored payload as well as in the index.
 */
export const find = async (url: string, entry: Entry, dispatcher: Agent): Promise<Found> => {
  const [detail, word, last] = await Promise.all([
    read<Detail>(`${url}/v1/api/traces/${entry.traceId}?include=all&payloads=none`, dispatcher),
    searched(url, entry.traceId, dispatcher),
    searched(url, `"question ${entry.spans - 1} of batch ${entry.traceId}"`, dispatcher),
  ]);
  if (detail === undefined) return word + last === 0 ? 'absent' : { fault: 'it is not there, but a search finds it' };
  const fault = faultIn(entry, detail);
  if (fault !== undefined) return { fault };
  if (word !== 1 || last !== 1) return { fault: `a search by word finds ${word}, by phrase ${last}` };
  return 'whole';
};

/**
 * Checks the files of a service that has stopped: every page, every index entry, and the full-text index by its own rule.
 * @param runsPath the runs file, where there is one
 * @throws Error with the first fault that was found
 */
export const checkFiles = (path: string, runsPath?: string): void => {
  const search = `${path}.fts`;
  for (const file of [path, search, ...(runsPath === undefined ? [] : [runsPath])]) {
    const db = new Database(file, { fileMustExist: true });
    try {
      const found = db.prepare<[], string>('PRAGMA integrity_check').pluck().all();
      if (found.length !== 1 || found[0] !== 'ok') throw new Error(`integrity of ${file}: ${found.join('; ')}`);
      if (file === search) db.exec(`INSERT INTO span_search (span_search) VALUES ('integrity-check')`);
    } finally {
      db.close();
    }
  }
};
