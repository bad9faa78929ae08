import { compileRun, type Place, RUN_MACHINE_VERSION, type RunMachine, type RunSnapshot } from '../../machines/run.ts';
import { type Migration, Unloadable } from '../../machines/persisted.ts';
import { initialSnapshot } from '../../machines/transition.ts';
import { type CompiledDefinition, type CompiledStep, compileDefinition } from '../../model/definition/compile.ts';
import type { Definition } from '../../model/definition/definition.ts';
import { parseStoredDefinition } from '../../model/definition/parse.ts';
import { type DefinitionOwner, ownedId, SERVICE } from '../../model/definition/owner.ts';
import type { DefinitionRecord, RunIdentity } from '../../store/runs/run-store.ts';
import { storedSlot, type Turn } from '../runs-kernel.ts';

/** A stored definition, ready to run: its expressions parsed, its machine compiled. */
export type Program = {
  readonly definition: Definition;
  readonly compiled: CompiledDefinition;
  readonly machine: RunMachine;
  readonly initial: RunSnapshot;
};

/** From the version they start from. None yet: version 1 is the first. */
export const runMigrations: ReadonlyMap<number, Migration> = new Map();
export { RUN_MACHINE_VERSION };

/** The largest definitions take megabytes as a machine, so only those in use are kept compiled. */
const PROGRAMS_KEPT = 200;

const documentOf = ({ id, version, document }: DefinitionRecord): unknown => {
  try {
    return JSON.parse(document);
  } catch {
    throw new Unloadable(`definition ${id} version ${version} cannot be read: the row is damaged`);
  }
};

/**
 * Compiles stored definitions at their first use and keeps those last used. A definition is immutable, so what was compiled
 * stays right; the fingerprint in the key keeps one that was never committed from standing in for another.
 * @returns a function that throws `Unloadable` for a definition that this release no longer accepts
 */
export const createPrograms = (kept: number = PROGRAMS_KEPT) => {
  const programs = new Map<string, Program>();
  return (record: DefinitionRecord): Program => {
    const key = `${record.id}@${record.version}#${record.hash}`;
    let program = programs.get(key);
    if (program === undefined) {
      const parsed = parseStoredDefinition(documentOf(record));
      if (!parsed.ok)
        throw new Unloadable(`definition ${record.id} version ${record.version}: ${parsed.failure.message}`);
      const machine = compileRun(parsed.value);
      program = {
        definition: parsed.value,
        compiled: compileDefinition(parsed.value),
        machine,
        initial: initialSnapshot(machine) as unknown as RunSnapshot,
      };
    } else programs.delete(key);
    programs.set(key, program);
    if (programs.size > kept) for (const oldest of programs.keys()) if (programs.size > kept) programs.delete(oldest);
    return program;
  };
};
export type Programs = ReturnType<typeof createPrograms>;

/** Definitions, by owner, id and version: what was stored once never changes. */
export const definitionSlot = storedSlot({
  name: 'definition',
  lifetime: 'kept',
  keyOf: ({ owner, id, version }: DefinitionKey) => `${version}/${ownedId(owner, id)}`,
  lookup: ({ owner, id, version }) => ({ kind: 'definition', owner, id, version }),
});
type DefinitionKey = { readonly owner: DefinitionOwner; readonly id: string; readonly version: number };

/** The highest version that an owner stored, as the group left it; where it owns none of that id, a version of the service. */
export const latestDefinitionSlot = storedSlot({
  name: 'latest_definition',
  lifetime: 'kept',
  keyOf: ({ owner, id }: OwnedId) => ownedId(owner, id),
  lookup: ({ owner, id }) => ({ kind: 'latest', owner, id }),
});
type OwnedId = { readonly owner: DefinitionOwner; readonly id: string };

/**
 * The definition that a project means by an id: its own where it owns one, else the service's; the highest version of it.
 * @see Interface decisions, section 12, "Definitions have an owner"
 */
export const latestFor = (turn: Turn, project: string, id: string): DefinitionRecord | undefined => {
  const found = turn.read(latestDefinitionSlot, { owner: project, id });
  // The service may have stored a higher version since the project's was looked up.
  return found?.owner === SERVICE ? turn.read(latestDefinitionSlot, { owner: SERVICE, id }) : found;
};

/** The step at a place of a run; `undefined` before its start and after its end. */
export const stepAt = ({ compiled }: Pick<Program, 'compiled'>, place: Place | undefined): CompiledStep | undefined =>
  place?.at === 'step' ? compiled.steps.get(place.step) : undefined;

/** The definition that a run is pinned to. */
export type PinnedDefinition = Pick<RunIdentity, 'definitionOwner' | 'definitionId' | 'definitionVersion'>;

/** @throws Unloadable for a definition that is not there, or that this release no longer accepts */
export const readProgram = (turn: Turn, programs: Programs, pinned: PinnedDefinition): Program => {
  const { definitionOwner: owner, definitionId: id, definitionVersion: version } = pinned;
  const record = turn.read(definitionSlot, { owner, id, version });
  if (record === undefined) throw new Unloadable(`definition ${id} version ${version} is not in the store`);
  return programs(record);
};
