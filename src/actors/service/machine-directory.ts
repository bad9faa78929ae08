import { ownMachines } from '../../machines/catalogue.ts';
import { drawMachine, stateNames } from '../../machines/mermaid.ts';
import { Unloadable } from '../../machines/persisted.ts';
import { RUN_MACHINE_VERSION } from '../../machines/run.ts';
import { projectOfOwner, SERVICE } from '../../model/definition/owner.ts';
import type { Result } from '../../model/failure.ts';
import type { JsonObject } from '../../model/json.ts';
import type { Page, Position } from '../../model/page.ts';
import type { DefinitionRecord, RunStore } from '../../store/runs/run-store.ts';
import { ownerOfRead } from '../definition/owner.ts';
import type { Programs } from '../run/program.ts';
import { notFound } from '../run/run-failures.ts';
import { attempt } from './calls.ts';
import { findVersion } from './definition-queries.ts';
import type { MachineDescription, MachineDirectory, MachineInfo, NamedDefinition } from './runs-service.ts';

const describe = (name: string, version: number, config: unknown): MachineDescription => {
  const plain = JSON.parse(JSON.stringify(config)) as JsonObject;
  return { name, version, states: stateNames(plain), config: plain };
};
const infoOf = ({ name, version, states, project }: MachineDescription): MachineInfo => ({
  name,
  version,
  states,
  ...(project === undefined ? {} : { project }),
});

type Named = NamedDefinition & { readonly name: string };

const own = ownMachines.map(({ machine, version }) => describe(machine.id, version, machine.config));

/** The service's own machines, and after them those that definitions compile to, by id. */
export const createMachineDirectory = (
  store: Pick<RunStore, 'load' | 'listDefinitions'>,
  programs: Programs,
): MachineDirectory => {
  const compiled = (record: DefinitionRecord): MachineDescription => ({
    ...describe(`run:${record.id}@${record.version}`, RUN_MACHINE_VERSION, programs(record).machine.config),
    ...projectOfOwner(record.owner),
  });

  /** A definition that this release no longer accepts compiles to nothing. */
  const compiledInfo = (record: DefinitionRecord): readonly MachineInfo[] => {
    try {
      return [infoOf(compiled(record))];
    } catch (error) {
      if (error instanceof Unloadable) return [];
      throw error;
    }
  };

  const find = async ({ reach, project, name }: Named): Promise<Result<MachineDescription>> => {
    const owner = ownerOfRead(reach, project);
    if (!owner.ok) return owner;
    const known = own.find((machine) => machine.name === name);
    if (known !== undefined) return { ok: true, value: known };
    const [, id, version] = /^run:([a-z][a-z0-9_-]{0,63})@([1-9]\d{0,9})$/.exec(name) ?? [];
    if (id === undefined) return notFound('machine', name);
    const record = await findVersion(store, { owner: owner.value, id, version: Number(version) });
    return record === undefined ? notFound('machine', name) : { ok: true, value: compiled(record) };
  };

  return {
    listMachines: ({ reach, limit, after }) =>
      attempt(async (): Promise<Result<Page<MachineInfo>>> => {
        const [list, last, owner = SERVICE] = after ?? [];
        const from = list === 'own' ? own.findIndex(({ name }) => name === last) + 1 : 0;
        const ahead = list === 'definition' ? [] : own.slice(from);
        const items: MachineInfo[] = ahead.slice(0, limit).map(infoOf);
        const ownEnd: Position = ['own', items.at(-1)?.name ?? ''];
        if (ahead.length > limit) return { ok: true, value: { items, next: ownEnd } };
        const room = limit - items.length;
        const records = await store.listDefinitions({
          reach,
          limit: room + 1,
          ...(list === 'definition' ? { after: { id: String(last), owner: String(owner) } } : {}),
        });
        const shown = records.slice(0, room);
        items.push(...shown.flatMap(compiledInfo));
        if (records.length <= room) return { ok: true, value: { items } };
        const end = shown.at(-1);
        return { ok: true, value: { items, next: end === undefined ? ownEnd : ['definition', end.id, end.owner] } };
      }),
    getMachine: (request) => attempt(() => find(request)),
    getMachineDiagram: (request) =>
      attempt(async () => {
        const found = await find(request);
        if (!found.ok) return found;
        const { name } = request;
        return { ok: true, value: drawMachine(name.startsWith('run:') ? 'run' : name, found.value.config) };
      }),
  };
};
