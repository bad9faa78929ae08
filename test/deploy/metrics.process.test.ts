import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';

const folder = join(import.meta.dirname, '../../deploy');
type Rules = { readonly groups: readonly { readonly rules: readonly { alert: string; expr: string }[] }[] };
const alerts = (parse(readFileSync(join(folder, 'prometheus/alerts.yaml'), 'utf8')) as Rules).groups.flatMap(
  ({ rules }) => rules,
);
const dashboardText = readFileSync(join(folder, 'grafana/dashboard.json'), 'utf8');
type Dashboard = {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
};
const panels = (JSON.parse(dashboardText) as Dashboard).panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr })),
);

const temporary = temporaryFolder();
let daemon: Daemon;
/** Names, and each series with its labels, as a service shows them that has done nothing yet. */
let names: ReadonlySet<string>;
let series: readonly string[];
beforeAll(async () => {
  daemon = await startDaemon(temporary.path);
  const lines = (await (await fetch(`${daemon.url}/metrics`)).text()).split('\n');
  series = lines.filter((line) => /^\w/.test(line)).map((line) => line.slice(0, line.lastIndexOf(' ')));
  names = new Set(series.map((one) => one.replace(/\{.*$/, '')));
});
afterAll(async () => {
  await daemon.stop();
  temporary.remove();
});

const metricsIn = (expr: string): string[] => [...expr.matchAll(/\bsvc_\w+/g)].map(([name]) => name);

describe('dashboard and alerts', () => {
  it.each(alerts)('alert $alert reads what /metrics shows from the start', ({ expr }) => {
    const used = metricsIn(expr);
    if (used.length === 0) expect(expr).toMatch(/^up\{/);
    expect(used.filter((name) => !names.has(name))).toEqual([]);
  });

  it.each(panels)('panel "$title" reads what /metrics shows from the start: $expr', ({ expr }) => {
    const used = metricsIn(expr);
    if (used.length === 0) expect(expr).toMatch(/\bup\{/);
    expect(used.filter((name) => !names.has(name))).toEqual([]);
  });

  it('ask for values of labels that there are', () => {
    const asked = [...alerts, ...panels].flatMap(({ expr }) =>
      [...expr.matchAll(/(svc_\w+)\{(status|reason)="(\w+)"\}/g)].map(([text]) => text),
    );
    expect(asked).toContain('svc_runs_ended_total{status="failed"}');
    expect(asked.filter((one) => !series.includes(one))).toEqual([]);
  });

  it('between them leave out nothing that the service shows', () => {
    const used = new Set([...alerts, ...panels].flatMap(({ expr }) => metricsIn(expr)));
    expect([...names].filter((name) => !used.has(name))).toEqual([]);
  });
});
