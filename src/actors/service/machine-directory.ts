import { ownMachines } from '../../machines/catalogue.ts';
import { drawMachine, stateNames } from '../../machines/mermaid.ts';
import { Unloadable } from '../../machines/persisted.ts';
import { RUN_MACHINE_VERSION } from '../../machines/run.ts';
import type { Result } from '../../model/failure.ts';
import type { JsonObject } from '../../model/json.ts';
import type { Page, Position } from '../../model/page.ts';
import type { DefinitionRecord, RunStore } from '../../store/runs/run-store.ts';
import type { Programs } from '../run/program.ts';
import { notFound } from '../run/run-failures.ts';
import { attempt } from './calls.ts';
import type { MachineDescription, MachineDirectory, MachineInfo } from './runs-service.ts';

const describe = (name: string, version: number, config: unknown): MachineDescription => {
  const plain = JSON.parse(JSON.stringify(config)) as JsonObject;
  return { name, version, states: stateNames(plain), config: plain };
};
const infoOf = ({ name, version, states }: MachineDescription): MachineInfo => ({ name, version, states });

const own = ownMachines.map(({ machine, version }) => describe(machine.id, version, machine.config));

/** The service's own machines, and after them those that definitions compile to, by id. */
export const createMachineDirectory = (
  store: Pick<RunStore, 'load' | 'listDefinitions'>,
  programs: Programs,
): MachineDirectory => {
  const compiled = (record: DefinitionRecord): MachineDescription =>
    describe(`run:${record.id}@${record.version}`, RUN_MACHINE_VERSION, programs(record).machine.config);

  /** A definition that this release no longer accepts compiles to nothing. */
  const compiledInfo = (record: DefinitionRecord): readonly MachineInfo[] => {
    try {
      return [infoOf(compiled(record))];
    } catch (error) {
      if (error instanceof Unloadable) return [];
      throw error;
    }
  };

  const find = async (name: string): Promise<Result<MachineDescription>> => {
    const known = own.find((machine) => machine.name === name);
    if (known !== undefined) return { ok: true, value: known };
    const [, id, version] = /^run:([a-z][a-z0-9_-]{0,63})@([1-9]\d{0,9})$/.exec(name) ?? [];
    if (id === undefined) return notFound('machine', name);
    const [record] = await store.load([{ kind: 'definition', id, version: Number(version) }]);
    return record === undefined ? notFound('machine', name) : { ok: true, value: compiled(record as DefinitionRecord) };
  };

  return {
    listMachines: ({ limit, after }) =>
      attempt(async (): Promise<Result<Page<MachineInfo>>> => {
        const [list, last] = after ?? [];
        const from = list === 'own' ? own.findIndex(({ name }) => name === last) + 1 : 0;
        const ahead = list === 'definition' ? [] : own.slice(from);
        const items: MachineInfo[] = ahead.slice(0, limit).map(infoOf);
        const ownEnd: Position = ['own', items.at(-1)?.name ?? ''];
        if (ahead.length > limit) return { ok: true, value: { items, next: ownEnd } };
        const room = limit - items.length;
        const records = await store.listDefinitions(list === 'definition' ? String(last) : undefined, room + 1);
        const shown = records.slice(0, room);
        items.push(...shown.flatMap(compiledInfo));
        if (records.length <= room) return { ok: true, value: { items } };
        const end = shown.at(-1);
        return { ok: true, value: { items, next: end === undefined ? ownEnd : ['definition', end.id] } };
      }),
    getMachine: (name) => attempt(() => find(name)),
    getMachineDiagram: (name) =>
      attempt(async () => {
        const found = await find(name);
        if (!found.ok) return found;
        return { ok: true, value: drawMachine(name.startsWith('run:') ? 'run' : name, found.value.config) };
      }),
  };
};
