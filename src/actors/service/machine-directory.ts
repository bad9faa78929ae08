import { LEASE_MACHINE_VERSION, leaseMachine } from '../../machines/lease.ts';
import { drawMachine, stateNames } from '../../machines/mermaid.ts';
import { RUN_MACHINE_VERSION } from '../../machines/run.ts';
import type { Result } from '../../model/failure.ts';
import type { JsonObject } from '../../model/json.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import { notFound } from '../run/run-failures.ts';
import { attempt } from './calls.ts';
import type { MachineDescription, MachineDirectory, MachineInfo } from './runs-service.ts';
import type { StoredRuns } from './stored-runs.ts';

/** The machine of leases, and those that definitions compile to. */
export const createMachineDirectory = (
  store: Pick<RunStore, 'listDefinitions'>,
  { programOf }: Pick<StoredRuns, 'programOf'>,
): MachineDirectory => {
  const machine = async (name: string): Promise<Result<MachineDescription>> => {
    if (name === 'lease') {
      const config = leaseMachine.config as unknown as JsonObject;
      return { ok: true, value: { name, version: LEASE_MACHINE_VERSION, states: stateNames(config), config } };
    }
    const match = /^run:([a-z][a-z0-9_-]{0,63})@([1-9]\d{0,9})$/.exec(name);
    const program = match === null ? undefined : await programOf(match[1] ?? '', Number(match[2]));
    if (program === undefined) return notFound('machine', name);
    const config = JSON.parse(JSON.stringify(program.machine.config)) as JsonObject;
    return { ok: true, value: { name, version: RUN_MACHINE_VERSION, states: stateNames(config), config } };
  };

  return {
    listMachines: () =>
      attempt(async () => {
        const definitions = await store.listDefinitions(undefined, 1000);
        const machines: MachineInfo[] = [];
        for (const name of ['lease', ...definitions.map(({ id, version }) => `run:${id}@${version}`)]) {
          const described = await machine(name);
          if (!described.ok) continue;
          const { config: _, ...info } = described.value;
          machines.push(info);
        }
        return { ok: true, value: machines };
      }),
    getMachine: (name) => attempt(() => machine(name)),
    getMachineDiagram: (name) =>
      attempt(async () => {
        const described = await machine(name);
        if (!described.ok) return described;
        return { ok: true, value: drawMachine(name === 'lease' ? 'lease' : 'run', described.value.config) };
      }),
  };
};
