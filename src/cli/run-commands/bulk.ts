import { setTimeout as wait } from 'node:timers/promises';
import type { components } from '../../model/generated/openapi.ts';
import { EXIT_USAGE } from '../exit-status.ts';
import { count } from '../format.ts';
import { jsonText, printable } from '../printable.ts';
import { misused, printed, withDaemon } from '../with-daemon.ts';
import { readPayload, type RunIo } from './steer.ts';

type Schemas = components['schemas'];
const PATH = '/v1/api/runs/bulk';
/** Of an answer that is typed. */
const MOST_CHARACTERS = 100;
/** How often the service is asked how far it is. */
const ASKED_EACH_MS = 500;

/** Asks a person, on the standard input: the answer is its first line. Without one it is no. */
const confirmed = async (io: RunIo, question: string): Promise<boolean> => {
  io.err(`svc: ${question} [y/N]`);
  let answer = '';
  for await (const piece of io.input) {
    answer += Buffer.from(piece).toString('utf8');
    if (answer.includes('\n') || answer.length > MOST_CHARACTERS) break;
  }
  return /^\s*y(?:es)?\s*$/i.test(answer.split('\n')[0] ?? '');
};

/**
 * `svc runs bulk`: counts first, asks, and waits for the end. Where its idempotency key began it before, it waits for that.
 * @param options.payload of a signal: JSON text, @file, or - for standard input
 * @returns the exit status
 */
export const bulkRuns = async (
  io: RunIo,
  given: Schemas['NewBulk'],
  options: { readonly yes: boolean; readonly payload?: string; readonly betweenMs?: number },
): Promise<number> => {
  const { yes, payload, betweenMs = ASKED_EACH_MS } = options;
  const { action, filter } = given;
  if (payload === '-' && !yes)
    return misused(io, '--payload - needs --yes: standard input cannot answer the question as well');
  const read = payload === undefined ? undefined : await readPayload(io, { payload });
  if (read?.ok === false) return misused(io, read.problem);
  const body = read === undefined ? given : { ...given, payload: read.value };
  if (Object.keys(filter).every((name) => name === 'project'))
    return misused(io, 'svc runs bulk needs a filter, such as --definition refund or --status failed');
  return withDaemon(io, async (client) => {
    const counted = await client.post<Schemas['StartedBulk']>(PATH, { ...body, dry_run: true });
    let { bulk_id: id } = counted;
    if (id === undefined) {
      const { count: matching, sample } = counted;
      if (matching === 0) return printed(io, io.json ? `${jsonText({ count: 0 }, 2)}\n` : 'No run matches.\n');
      const such = `${count(matching)} ${matching === 1 ? 'run' : 'runs'}, such as ${sample
        .slice(0, 3)
        .map((runId) => printable(runId))
        .join(', ')}`;
      if (!yes && !(await confirmed(io, `${action} ${such}?`))) {
        io.err('svc: nothing was done; --yes asks no question');
        return EXIT_USAGE;
      }
      ({ bulk_id: id } = await client.post<Schemas['StartedBulk']>(PATH, body));
    }
    if (id === undefined) return printed(io, io.json ? `${jsonText({ count: 0 }, 2)}\n` : 'No run matches any more.\n');
    for (;;) {
      const bulk = await client.get<Schemas['Bulk']>(`${PATH}/${encodeURIComponent(id)}`);
      if (bulk.status !== 'running')
        return printed(
          io,
          io.json
            ? `${jsonText(bulk, 2)}\n`
            : `${action}: ${count(bulk.done)} done, ${count(bulk.refused)} refused, of ${count(bulk.count)}\n`,
        );
      await wait(betweenMs);
    }
  });
};
