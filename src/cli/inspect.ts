import type { components } from '../model/generated/openapi.ts';
import { connectToDaemon, type DaemonAddress, type DaemonClient, DaemonError } from './daemon-client.ts';
import { EXIT_START, EXIT_USAGE } from './exit-status.ts';
import { table } from './table.ts';

type Actor = components['schemas']['Actor'];
type Machine = components['schemas']['Machine'];

export type InspectIo = DaemonAddress & {
  readonly out: (text: string) => void;
  readonly err: (line: string) => void;
};

const PAGE = 1000;

/** Asks, and prints what the service refuses as one line. @returns the exit status */
const withDaemon = async (io: InspectIo, ask: (client: DaemonClient) => Promise<void>): Promise<number> => {
  const client = connectToDaemon(io);
  if (typeof client === 'string') {
    io.err(`svc: ${client}`);
    return EXIT_USAGE;
  }
  try {
    await ask(client);
    return 0;
  } catch (error) {
    if (!(error instanceof DaemonError)) throw error;
    io.err(`svc: ${error.message}`);
    return EXIT_START;
  }
};

const misused = (io: InspectIo, problem: string): number => {
  io.err(`svc: ${problem}`);
  return EXIT_USAGE;
};

/** Where a machine is, on one line: `active.pay.queued`. */
const placeOf = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([state, inner]) => `${state}.${placeOf(inner)}`)
    .join(' ');
};

type Lists = { readonly machines: Machine; readonly actors: Actor };

/** All rows of a list, page by page. */
async function* rowsOf<L extends keyof Lists>(
  client: DaemonClient,
  list: L,
  filters: Readonly<Record<string, string | undefined>>,
): AsyncGenerator<Lists[L], void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await client.get<Record<L, readonly Lists[L][]> & { readonly next_cursor?: string }>(
      `/v1/api/${list}`,
      { ...filters, cursor, limit: PAGE },
    );
    yield* page[list];
    cursor = page.next_cursor;
  } while (cursor !== undefined);
}

/**
 * `svc machines [name]`: the state machines of a running service, over HTTP.
 * @returns the exit status
 * @see Interface decisions, "10. Actors and machines, for debugging"
 */
export const showMachines = async (
  io: InspectIo & { readonly format: string },
  name: string | undefined,
): Promise<number> => {
  const { format, out } = io;
  if (format !== 'json' && format !== 'mermaid')
    return misused(io, `--format: must be json or mermaid, is ${JSON.stringify(format.slice(0, 64))}`);
  return withDaemon(io, async (client) => {
    if (name === undefined) {
      const rows = [['name', 'version', 'states']];
      for await (const { name: known, version, states } of rowsOf(client, 'machines', {}))
        rows.push([known, `${version}`, states.join(' ')]);
      out(table(rows));
      return;
    }
    const path = `/v1/api/machines/${encodeURIComponent(name)}`;
    if (format === 'mermaid') out(await client.getText(path, { format }));
    else out(`${JSON.stringify(await client.get(path), null, 2)}\n`);
  });
};

/**
 * `svc actors [type] [id]`: where the actors of a running service are, or one complete snapshot, also as it was at a journal entry.
 * @returns the exit status
 */
export const showActors = async (
  io: InspectIo,
  asked: { readonly type?: string; readonly id?: string; readonly atSeq?: string; readonly project?: string },
): Promise<number> => {
  const { type, id, atSeq, project } = asked;
  if (atSeq !== undefined && !/^\d{1,15}$/.test(atSeq))
    return misused(io, `--at-seq: must be an integer from 0, is ${JSON.stringify(atSeq.slice(0, 64))}`);
  if (atSeq !== undefined && id === undefined) return misused(io, '--at-seq: needs the type and the id of an actor');
  return withDaemon(io, async (client) => {
    if (type !== undefined && id !== undefined) {
      const path = `/v1/api/actors/${encodeURIComponent(type)}/${encodeURIComponent(id)}`;
      io.out(`${JSON.stringify(await client.get(path, { at_seq: atSeq }), null, 2)}\n`);
      return;
    }
    const rows = [['type', 'id', 'machine', 'status', 'version', 'updated_at', 'value']];
    for await (const actor of rowsOf(client, 'actors', { type, project }))
      rows.push([
        actor.type,
        actor.id,
        actor.machine,
        actor.status,
        `${actor.version}`,
        actor.updated_at,
        placeOf(actor.value),
      ]);
    io.out(table(rows));
  });
};
