import { describe, expect, it } from 'vitest';
import { drawMachine, stateNames } from '../../src/machines/mermaid.ts';
import { monitorMachine } from '../../src/machines/monitor.ts';
import { sloMachine } from '../../src/machines/slo.ts';

/** The picture of both, with the guards of one. */
const picture = (outside: string, inside: string): string => `stateDiagram-v2
  state "nominal" as nominal
  state "tripped" as tripped
  state "acknowledged" as acknowledged
  [*] --> nominal
  nominal --> tripped: evaluation.ended [${outside}]
  tripped --> nominal: evaluation.ended [${inside}]
  tripped --> acknowledged: trip.acknowledged
  acknowledged --> nominal: evaluation.ended [${inside}]
`;

describe('the machines of monitors and SLOs', () => {
  it.each([
    ['monitor', monitorMachine, picture('crosses', 'isBackInside')],
    ['slo', sloMachine, picture('burnsTooFast', 'burnsNoMore')],
  ] as const)('%s keeps its name, its states and its picture', (name, machine, drawn) => {
    expect(machine.id).toBe(name);
    expect(stateNames(machine.config)).toEqual(['nominal', 'tripped', 'acknowledged']);
    expect(drawMachine(name, machine.config)).toBe(drawn);
  });

  it('share a chart and nothing of what they say about it', () => {
    const texts = (config: object): unknown[] =>
      Object.values((config as { states: Record<string, { description: string }> }).states).map(
        ({ description }) => description,
      );
    const all = [...texts(monitorMachine.config), ...texts(sloMachine.config)];
    expect(new Set(all).size).toBe(6);
  });
});
