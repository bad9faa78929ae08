import type { components } from '../model/generated/openapi.ts';
import { actorText, placeOf } from './actor-text.ts';
import type { DaemonClient } from './daemon-client.ts';
import { jsonText, printable, quoted } from './printable.ts';
import { table } from './table.ts';
import { type AskIo, misused, printed, type ShowIo, withDaemon } from './with-daemon.ts';

type Actor = components['schemas']['Actor'];
type ActorSnapshot = components['schemas']['ActorSnapshot'];
type Machine = components['schemas']['Machine'];

const PAGE = 1000;

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
  io: AskIo & { readonly format: string; readonly project?: string },
  name: string | undefined,
): Promise<number> => {
  const { format, project } = io;
  if (format !== 'json' && format !== 'mermaid')
    return misused(io, `--format: must be json or mermaid, is ${quoted(format)}`);
  return withDaemon(io, async (client) => {
    if (name === undefined) {
      const rows = [['name', 'version', 'project', 'states']];
      for await (const { name: known, version, project: owner = '-', states } of rowsOf(client, 'machines', {
        project,
      }))
        rows.push([printable(known), `${version}`, printable(owner), printable(states.join(' '))]);
      return printed(io, table(rows));
    }
    const path = `/v1/api/machines/${encodeURIComponent(name)}`;
    return printed(
      io,
      format === 'mermaid'
        ? await client.getText(path, { format, project })
        : `${jsonText(await client.get(path, { project }), 2)}\n`,
    );
  });
};

/**
 * `svc actors [type] [id]`: where the actors of a running service are, or one with all that it remembers, also as it was at a
 * journal entry. With `json` the answer of the API, of a list all pages as one.
 * @returns the exit status
 */
export const showActors = async (
  io: ShowIo,
  asked: { readonly type?: string; readonly id?: string; readonly atSeq?: number; readonly project?: string },
): Promise<number> => {
  const { type, id, atSeq, project } = asked;
  if (atSeq !== undefined && id === undefined) return misused(io, '--at-seq: needs the type and the id of an actor');
  return withDaemon(io, async (client) => {
    if (type !== undefined && id !== undefined) {
      const path = `/v1/api/actors/${encodeURIComponent(type)}/${encodeURIComponent(id)}`;
      const actor = await client.get<ActorSnapshot>(path, { at_seq: atSeq });
      return printed(io, io.json ? `${jsonText(actor, 2)}\n` : actorText(actor, io.moments(), atSeq));
    }
    const actors = await Array.fromAsync(rowsOf(client, 'actors', { type, project }));
    if (io.json) return printed(io, `${jsonText({ actors }, 2)}\n`);
    const { distance } = io.moments();
    return printed(
      io,
      table([
        ['TYPE', 'ID', 'MACHINE', 'STATUS', 'VERSION', 'UPDATED', 'STATE'],
        ...actors.map((actor) => [
          printable(actor.type),
          printable(actor.id),
          printable(actor.machine),
          actor.status,
          `${actor.version}`,
          distance(actor.updated_at),
          placeOf(actor.value),
        ]),
      ]),
    );
  });
};
