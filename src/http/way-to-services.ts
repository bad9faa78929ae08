import { randomBytes } from 'node:crypto';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { urlToHttpOptions } from 'node:url';
import type { PassedCall, WayToServices } from '../actors/service/sharded-runs.ts';
import type { Result } from '../model/failure.ts';
import type { JournalEntry } from '../model/run.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { joinLines, linesOf } from './lines.ts';
import { type Answer, type AnsweredLine, PEER_JOURNAL_PATH, PEER_PATH, type SentLine } from './peer-calls.ts';
import { PEER } from './relay.ts';

const CONNECT_MS = 2_000;
/** Connections that rest end before the other side ends them. */
const QUIET_MS = 2_000;
/** After so long calls go in a new request: a server gives up one whose end does not come. The shortest time that it may be set to is ten seconds. */
const LINK_MS = 5_000;

const unanswered = (cause?: unknown): StoreUnavailable =>
  new StoreUnavailable('the service that owns these runs did not answer; what was asked may have happened', { cause });

const valueOf = (answer: Answer): unknown => {
  if ('unavailable' in answer) throw new StoreUnavailable(answer.unavailable);
  if ('broken' in answer) throw new Error('the service that owns these runs met a fault; its log says which');
  return answer.value;
};

/** One request that calls are sent in. */
type Link = {
  readonly send: (line: SentLine) => void;
  /** Calls in it that are not answered. */
  readonly calls: Set<string>;
};
/** A call that is not answered. */
type Waiting = {
  readonly address: string;
  readonly shard: number | undefined;
  readonly answered: (answer: Answer) => void;
  readonly fail: (error: StoreUnavailable) => void;
};

/**
 * The way to the other services.
 * @param answerMs the longest time that a call may take which nobody gives up before
 */
export const createWayToServices = (secret: string, answerMs: number): WayToServices => {
  // Only services that share runs load it: the import loads all of fetch, too.
  const { Agent, request: ask } = process.getBuiltinModule('node:http');
  const { Agent: SecureAgent, request: askSecurely } = process.getBuiltinModule('node:https');
  const agents = {
    plain: new Agent({ keepAlive: true, timeout: QUIET_MS }),
    secure: new SecureAgent({ keepAlive: true, timeout: QUIET_MS }),
  };

  /** A request whose connection is made in time. */
  const begin = (address: string, path: string): ClientRequest => {
    const url = new URL(address);
    const isSecure = url.protocol === 'https:';
    const sent = (isSecure ? askSecurely : ask)({
      ...urlToHttpOptions(url),
      path,
      method: 'POST',
      headers: { [PEER]: secret, 'content-type': 'application/x-ndjson' },
      agent: isSecure ? agents.secure : agents.plain,
    });
    const late = setTimeout(() => sent.destroy(new Error('no connection in time')), CONNECT_MS);
    sent.on('socket', (socket) => {
      if (!socket.connecting) clearTimeout(late);
      else socket.once('connect', () => clearTimeout(late));
    });
    sent.on('close', () => clearTimeout(late));
    return sent;
  };

  const idsBegin = randomBytes(8).toString('hex');
  let calls = 0;
  const waiting = new Map<string, Waiting>();
  /** The request of each address in which the next call goes. */
  const links = new Map<string, Link>();

  const open = (address: string): Link => {
    const sent = begin(address, PEER_PATH);
    const lines = joinLines(sent);
    const link: Link = { send: lines.write, calls: new Set() };
    links.set(address, link);
    /** What is called next goes in another request. */
    const retire = (): void => {
      clearTimeout(retiring);
      if (links.get(address) === link) links.delete(address);
      lines.flush();
      if (!sent.destroyed) sent.end();
    };
    const retiring = setTimeout(retire, LINK_MS);
    const ended = (error: Error): void => {
      clearTimeout(retiring);
      if (links.get(address) === link) links.delete(address);
      for (const id of link.calls) waiting.get(id)?.fail(unanswered(error));
      sent.destroy();
    };
    /** The other service stops: it must not wait for a connection that rests. */
    let isLast = false;
    const read = async (answer: IncomingMessage): Promise<void> => {
      try {
        if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`);
        for await (const line of linesOf(answer)) {
          const said = JSON.parse(line) as AnsweredLine;
          if ('stops' in said) {
            isLast = true;
            retire();
          } else waiting.get(said.id)?.answered(said);
        }
        if (isLast) sent.socket?.destroy();
        if (link.calls.size > 0 || links.get(address) === link) ended(new Error('the connection ended'));
      } catch (error) {
        ended(error as Error);
      }
    };
    sent.on('response', (answer) => void read(answer));
    sent.on('error', ended);
    return link;
  };

  const call = (address: string, passed: PassedCall, signal: AbortSignal | undefined): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(unanswered(signal.reason));
        return;
      }
      const id = `${idsBegin}-${(calls += 1)}`;
      const link = links.get(address) ?? open(address);
      const endWait = (): void => (links.get(address) ?? open(address)).send({ ends: id });
      const done = (): void => {
        clearTimeout(late);
        signal?.removeEventListener('abort', endWait);
        waiting.delete(id);
        link.calls.delete(id);
      };
      const one: Waiting = {
        address,
        shard: passed.shard,
        answered: (answer) => {
          done();
          try {
            resolve(valueOf(answer));
          } catch (error) {
            reject(error);
          }
        },
        fail: (error) => {
          done();
          reject(error);
        },
      };
      const late = setTimeout(() => giveUp(id, one), answerMs);
      waiting.set(id, one);
      link.calls.add(id);
      signal?.addEventListener('abort', endWait);
      link.send({ id, ...passed });
    });
  /** Nobody waits for this answer any more. */
  const giveUp = (id: string, { address, fail }: Waiting): void => {
    links.get(address)?.send({ ends: id, isGone: true });
    fail(unanswered());
  };

  return {
    call,
    follow: async (address, passed, signal) => {
      let lines: AsyncIterator<string>;
      let first: IteratorResult<string>;
      try {
        signal.throwIfAborted();
        const answer = await new Promise<IncomingMessage>((resolve, reject) => {
          const sent = begin(address, PEER_JOURNAL_PATH);
          const end = (): void => void sent.destroy(new Error('given up'));
          signal.addEventListener('abort', end, { once: true });
          const one: Waiting = { address, shard: passed.shard, answered: () => {}, fail: end };
          const id = `${idsBegin}-${(calls += 1)}`;
          waiting.set(id, one);
          sent.on('response', resolve);
          sent.on('error', reject);
          sent.on('close', () => {
            signal.removeEventListener('abort', end);
            waiting.delete(id);
            reject(new Error('the connection ended'));
          });
          sent.end(`${JSON.stringify(passed)}\n`);
        });
        if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`);
        lines = linesOf(answer);
        first = await lines.next();
      } catch (error) {
        throw unanswered(error);
      }
      if (first.done === true) throw unanswered();
      const followed = valueOf(JSON.parse(first.value) as Answer) as Result<{ readonly project: string }>;
      if (!followed.ok) return followed;
      const pages = async function* (): AsyncGenerator<readonly JournalEntry[]> {
        try {
          for (let line = await lines.next(); line.done !== true; line = await lines.next())
            yield JSON.parse(line.value) as readonly JournalEntry[];
        } catch (error) {
          if (!signal.aborted) throw unanswered(error);
        }
      };
      return { ok: true, value: { ...followed.value, pages: pages() } };
    },
    endWhere: (isOver) => {
      for (const [id, one] of waiting) if (isOver(one.address, one.shard)) giveUp(id, one);
    },
  };
};
