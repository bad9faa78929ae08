import { hashDefinition } from '../../model/definition/hash.ts';
import type { DefinitionOwner } from '../../model/definition/owner.ts';
import { parseDefinition } from '../../model/definition/parse.ts';
import type { Result } from '../../model/failure.ts';
import type { Json } from '../../model/json.ts';
import type { DefinitionRecord } from '../../store/runs/run-store.ts';
import { definitionSlot, latestDefinitionSlot } from '../run/program.ts';
import type { Turn } from '../runs-kernel.ts';
import type { StoredDefinition } from '../service/runs-service.ts';

/** Said of an id and version that are taken. */
export const conflictOf = (id: string, version: number): string =>
  `definition ${id} version ${version} is stored with other content; a changed definition needs a higher version`;

/** Memory knows that it is the latest, where it is. */
const noteLatest = (turn: Turn, record: DefinitionRecord): void => {
  const { owner, version } = record;
  const latest = turn.read(latestDefinitionSlot, record);
  if (latest?.owner !== owner || latest.version < version) turn.write(latestDefinitionSlot, record, record);
};

const storeDefinition = (turn: Turn, record: DefinitionRecord): void => {
  turn.rows.definitions.push(record);
  turn.write(definitionSlot, record, record);
  noteLatest(turn, record);
};

/**
 * Stores definitions of one owner: all of them, or none when one is refused. Nothing else stores any.
 * @param documents as they were sent; nothing about them is trusted
 * @returns what became of each, in their order; `definition_invalid` or `definition_conflict` for the first that is refused
 */
export const storeDefinitions = (
  turn: Turn,
  owner: DefinitionOwner,
  documents: readonly Json[],
): Result<readonly StoredDefinition[]> => {
  const held: StoredDefinition[] = [];
  const created: DefinitionRecord[] = [];
  const found: DefinitionRecord[] = [];
  for (const [index, document] of documents.entries()) {
    const parsed = parseDefinition(document);
    if (!parsed.ok) return { ok: false, failure: { ...parsed.failure, field: `definitions[${index}]` } };
    const { id, version } = parsed.value;
    const hash = hashDefinition(document);
    const stored =
      created.find((record) => record.id === id && record.version === version) ??
      turn.read(definitionSlot, { owner, id, version });
    if (stored !== undefined && stored.hash !== hash)
      return {
        ok: false,
        failure: {
          code: 'definition_conflict',
          message: conflictOf(id, version),
          field: `definitions[${index}]`,
        },
      };
    turn.read(latestDefinitionSlot, { owner, id });
    if (stored === undefined) {
      created.push({ owner, id, version, document: JSON.stringify(document), hash, createdAt: turn.at });
    } else found.push(stored);
    held.push({ id, version, stored: stored === undefined ? 'created' : 'unchanged' });
  }
  for (const record of created) storeDefinition(turn, record);
  // The kernel of another shard may have stored it, and this one have read the latest before.
  for (const record of found) noteLatest(turn, record);
  return { ok: true, value: held };
};
