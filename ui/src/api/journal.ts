import { api, ask, askService } from './client.ts';
import { problemOf } from './problem.ts';
import type { components } from './types.ts';

export type JournalEntry = components['schemas']['JournalEntry'];

/** The longest event that is held until its end: an entry of the journal is far smaller. */
const MAX_EVENT_CHARACTERS = 16_000_000;

/** Reads the `data` of each event of a stream, and leaves out comments. */
const eventsOf = async function* (body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let held = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      held += decoder.decode(value, { stream: true });
      if (held.length > MAX_EVENT_CHARACTERS) throw new RangeError('an event of the journal has no end');
      const blocks = held.split('\n\n');
      held = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = block
          .split('\n')
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice(5).trimStart())
          .join('\n');
        if (data !== '') yield data;
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // the connection may have gone already
  }
};

/**
 * One connection to the journal of a run. By `fetch`, which can send the key; an `EventSource` cannot.
 * @param after the last sequence number seen; -1 for all
 * @returns whether the run has ended, so that nothing more will come
 * @throws Problem when the service refuses, and whatever the connection ends with
 */
export const followJournal = async (
  run: string,
  after: number,
  signal: AbortSignal,
  onEntry: (entry: JournalEntry) => void,
): Promise<boolean> => {
  const headers = { accept: 'text/event-stream', ...(after >= 0 ? { 'last-event-id': String(after) } : {}) };
  const address = new URL(`/v1/api/runs/${encodeURIComponent(run)}/events`, location.origin);
  const response = await askService(new Request(address, { headers, signal }));
  if (response.status === 204) return true;
  if (!response.ok || response.body === null) throw problemOf(response, await response.json().catch(() => undefined));
  for await (const data of eventsOf(response.body)) onEntry(JSON.parse(data) as JournalEntry);
  return false;
};

const PAGE = 1000;
const MAX_PAGES = 10;

/**
 * The journal of a run as it is now, a page at a time.
 * @param after the last sequence number that is known; -1 for none
 * @returns at most ten pages of it; `isCut` where it is longer
 */
export const readJournal = async (
  run: string,
  signal: AbortSignal,
  after = -1,
): Promise<{ readonly entries: readonly JournalEntry[]; readonly isCut: boolean }> => {
  const entries: JournalEntry[] = [];
  let known = after;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await ask(
      api.GET('/v1/api/runs/{run}/events', { params: { path: { run }, query: { after: known, limit: PAGE } }, signal }),
    );
    if (typeof answer !== 'object') break; // a stream, which was not asked for
    const { events, next_after } = answer;
    entries.push(...events);
    if (events.length < PAGE) return { entries, isCut: false };
    known = next_after;
  }
  return { entries, isCut: true };
};
