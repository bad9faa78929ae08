import type { Fault } from '../../model/definition/fault.ts';
import { hashDefinition } from '../../model/definition/hash.ts';
import type { DefinitionOwner } from '../../model/definition/owner.ts';
import { parseDefinition } from '../../model/definition/parse.ts';
import type { Json } from '../../model/json.ts';
import type { DefinitionRecord, RunStore } from '../../store/runs/run-store.ts';
import type { CheckedDefinition } from '../service/runs-service.ts';
import { conflictOf } from './store-definitions.ts';

/** Most faults that the answer lists of one definition; one more says how many it leaves out. */
const FAULTS_LISTED = 100;
/** As much of an id as the answer repeats. */
const ID_CHARACTERS = 64;

const listed = (faults: readonly Fault[]): readonly Fault[] => {
  const more = faults.length - FAULTS_LISTED;
  if (more <= 0) return faults;
  const message = more === 1 ? 'and one more fault' : `and ${more} more faults`;
  return [...faults.slice(0, FAULTS_LISTED), { path: '', message }];
};

/** What a document calls itself, as far as that can be read. */
const nameOf = (document: Json): Pick<CheckedDefinition, 'id' | 'version'> => {
  if (document === null || typeof document !== 'object' || Array.isArray(document)) return {};
  const { id, version } = document as { readonly id?: Json; readonly version?: Json };
  return {
    ...(typeof id === 'string' ? { id: id.slice(0, ID_CHARACTERS) } : {}),
    ...(Number.isSafeInteger(version) ? { version: version as number } : {}),
  };
};

/**
 * Says of each definition why it would not be stored.
 * @param defer lets other work run: a definition takes some milliseconds
 * @returns in the order of the documents; one without faults would be stored, or is
 */
export const checkDefinitions = async (
  store: Pick<RunStore, 'load'>,
  owner: DefinitionOwner,
  documents: readonly Json[],
  defer: () => Promise<void>,
): Promise<readonly CheckedDefinition[]> => {
  const checked: CheckedDefinition[] = [];
  /** Hashes of those that would be stored, by id and version. */
  const accepted = new Map<string, string>();
  for (const document of documents) {
    await defer();
    const parsed = parseDefinition(document);
    if (!parsed.ok) {
      checked.push({ ...nameOf(document), faults: listed(parsed.failure.faults) });
      continue;
    }
    const { id, version } = parsed.value;
    const key = `${id}@${version}`;
    const hash = hashDefinition(document);
    let known = accepted.get(key);
    if (known === undefined) {
      const [found] = await store.load([{ kind: 'definition', owner, id, version }]);
      known = (found as DefinitionRecord | undefined)?.hash;
    }
    const conflicts = known !== undefined && known !== hash;
    if (!conflicts) accepted.set(key, hash);
    checked.push({ id, version, faults: conflicts ? [{ path: 'version', message: conflictOf(id, version) }] : [] });
  }
  return checked;
};
