import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { environmentName, flagNames, flags } from '../../src/cli/flags.ts';
import { readSettings } from '../../src/cli/settings.ts';
import { apiDocument } from '../../src/http/contract/contract.ts';
import { temporaryFolder } from '../daemon.ts';

const folder = join(import.meta.dirname, '../../deploy');
const read = (path: string): string => readFileSync(join(folder, path), 'utf8');
const listed = (pattern: string): string[] => globSync(pattern, { cwd: folder }).toSorted();

// What the tests below read of a manifest; everything else in it is its own affair.
type Probe = { readonly httpGet: { readonly path: string; readonly port: string } };
type Container = {
  readonly image: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly resources: { readonly requests: object; readonly limits: object };
  readonly securityContext: object;
  readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
} & { readonly [P in 'startupProbe' | 'livenessProbe' | 'readinessProbe']: Probe };
type Pod = {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly terminationGracePeriodSeconds: number;
    readonly securityContext: object;
    readonly containers: readonly [Container];
  };
};
type Manifest = {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas?: number;
    readonly template: Pod;
    readonly selector: Readonly<Record<string, unknown>>;
  };
};
type ComposeService = {
  readonly image: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly stop_grace_period?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly restart: string;
  readonly mem_limit: string;
};
type Compose = { readonly services: Readonly<Record<string, ComposeService>> };

/** The operations of each path of the interface. */
const documented = apiDocument.paths as Readonly<Record<string, Readonly<Record<string, object>>>>;

const documentsOf = <T>(path: string): T[] =>
  parseAllDocuments(read(path), { merge: true, strict: true, uniqueKeys: true }).map((document) => {
    if (document.errors.length > 0) throw new Error(`${path}: ${document.errors[0]?.message}`);
    return document.toJS() as T;
  });
const manifests = (variant: string): Manifest[] =>
  listed(`kubernetes/${variant}/*.yaml`)
    .filter((path) => !path.endsWith('kustomization.yaml'))
    .flatMap((path) => documentsOf<Manifest>(path));
const composeFiles = listed('compose/*.yaml');
const variants = ['file', 'postgres'];

/** How long a stop takes at the most: requests in flight, then the stores. */
const STOP_SECONDS = (flags['request-timeout-seconds'].default ?? 0) + 5;

it.each(listed('**/*.{yaml,json}'))('%s can be read', (path) => {
  for (const document of documentsOf<unknown>(path)) expect(document).toBeTypeOf('object');
});

it.each(listed('**/{*.yaml,Dockerfile}'))('every SVCD_ variable that %s sets is one of a flag', (path) => {
  const known = new Set(flagNames.map(environmentName));
  const named = [...read(path).matchAll(/\bSVCD_[A-Z_]+/g)].map(([name]) => name);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

describe('the image', () => {
  const instructions = read('Dockerfile')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll('\\\n', '')
    .split('\n')
    .filter((line) => line !== '');
  const final = instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM ')));

  it('runs as a user without rights, keeps its data in a volume, and listens on the port of the service', () => {
    expect(final).toContain('USER 65532:65532');
    expect(final).toContain('VOLUME /data');
    expect(final).toContain(`EXPOSE ${flags.port.default}`);
    expect(final.join('\n')).not.toMatch(/\b(?:ADD|RUN) /);
  });

  it('is judged by a command of the service', () =>
    expect(final.join('\n')).toMatch(
      /HEALTHCHECK .*CMD \["\/usr\/local\/bin\/node", "\/app\/bin\/svc\.mjs", "health"\]/s,
    ));
});

describe.each(composeFiles)('%s', (path) => {
  const { services } = documentsOf<Compose>(path)[0] ?? { services: {} };
  const own = Object.values(services).filter(({ image }) => image.startsWith('svc:'));

  it('bounds the memory of each service and starts it again', () => {
    for (const { mem_limit, restart } of Object.values(services))
      expect({ mem_limit, restart }).toEqual({
        mem_limit: expect.stringMatching(/^\d+[mg]$/),
        restart: 'unless-stopped',
      });
  });

  it('gives ours no right that it does not need, and the time that a stop may take', () => {
    expect(own.length).toBeGreaterThan(0);
    for (const service of own) {
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
      expect(Number.parseInt(service.stop_grace_period ?? '', 10)).toBeGreaterThan(STOP_SECONDS);
    }
  });

  it('says of each service that shares runs where the others reach it', () => {
    const names = Object.entries(services).filter(([, { image }]) => image.startsWith('svc:'));
    for (const [name, { environment }] of names)
      expect(environment?.['SVCD_PEER_URL']).toBe(
        names.length === 1 ? undefined : `http://${name}:${flags.port.default}`,
      );
  });
});

describe('make-secrets.sh', () => {
  const temporary = temporaryFolder();
  afterAll(temporary.remove);

  it('writes settings that the service takes, with keys of every scope, and never writes them again', () => {
    mkdirSync(join(temporary.path, 'compose'));
    cpSync(join(folder, 'compose/make-secrets.sh'), join(temporary.path, 'compose/make-secrets.sh'));
    const make = () => execFileSync('sh', [join(temporary.path, 'compose/make-secrets.sh')]);
    const secrets = (name: string): string => readFileSync(join(temporary.path, 'compose/secrets', name), 'utf8');
    make();
    const all = ['svc.json', 'svc-postgres.json', 'svc-clickhouse.json', 'clickhouse-users.xml', 'postgres-password'];
    const drawn = all.map(secrets);
    for (const name of ['svc.json', 'svc-postgres.json', 'svc-clickhouse.json']) {
      const settings = readSettings({
        given: { 'config-file': [join(temporary.path, 'compose/secrets', name)] },
        environment: {},
      });
      if (!settings.ok) throw new Error(settings.problem);
      const { keys, sqlstoreUrl, runsUrl, colstoreUrl, colstorePassword } = settings.value;
      expect(Object.values(keys).map((held) => held.length)).toEqual([1, 1, 1, 1, 1, 1]);
      expect(new Set(Object.values(keys).flat()).size).toBe(6);
      const url =
        name !== 'svc-postgres.json' ? undefined : `postgres://svc:${secrets('postgres-password')}@postgres/svc`;
      expect({ sqlstoreUrl, runsUrl }).toEqual({ sqlstoreUrl: url, runsUrl: url });
      expect(colstoreUrl).toBe(name === 'svc-clickhouse.json' ? 'http://clickhouse:8123' : undefined);
      if (colstorePassword !== undefined)
        expect(secrets('clickhouse-users.xml')).toContain(
          `<password_sha256_hex>${createHash('sha256').update(colstorePassword).digest('hex')}</password_sha256_hex>`,
        );
    }
    make();
    expect(all.map(secrets)).toEqual(drawn);
  });
});

describe.each(variants)('the manifests of kubernetes/%s', (variant) => {
  const all = manifests(variant);
  const workloads = all.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');

  it('name every file in their kustomization, and no other', () => {
    const [{ resources } = { resources: [] }] = documentsOf<{ readonly resources: readonly string[] }>(
      `kubernetes/${variant}/kustomization.yaml`,
    );
    expect(resources.toSorted()).toEqual(
      listed(`kubernetes/${variant}/*.yaml`)
        .map((path) => path.slice(`kubernetes/${variant}/`.length))
        .filter((name) => name !== 'kustomization.yaml'),
    );
  });

  it('probe routes that need no key, on the port of the service', () => {
    expect(workloads.length).toBeGreaterThan(0);
    for (const { spec } of workloads) {
      const [container] = spec.template.spec.containers;
      expect(container.ports).toEqual([{ name: 'http', containerPort: flags.port.default }]);
      const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
      expect(probes.map(({ httpGet }) => httpGet)).toEqual(
        ['/healthz', '/healthz', '/readyz'].map((path) => ({ path, port: 'http' })),
      );
      for (const { httpGet } of probes) expect(documented[httpGet.path]?.['get']).toMatchObject({ 'x-scope': 'open' });
    }
  });

  it('give a pod its resources, the time that a stop may take, and no right that it does not need', () => {
    for (const { spec } of workloads) {
      const { terminationGracePeriodSeconds, securityContext, containers } = spec.template.spec;
      const [container] = containers;
      expect(terminationGracePeriodSeconds).toBeGreaterThan(STOP_SECONDS + container.lifecycle.preStop.sleep.seconds);
      expect(container.resources).toMatchObject({
        requests: { cpu: expect.any(String) },
        limits: { memory: expect.any(String) },
      });
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 65_532,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  it('select the pods that they mean, and keep one pod for each file', () => {
    const pods = workloads.map(({ spec }) => spec.template.metadata.labels);
    for (const { kind, spec } of all) {
      if (spec?.selector === undefined) continue;
      const labels = Object.entries((spec.selector['matchLabels'] ?? spec.selector) as Record<string, string>);
      const selected = pods.filter((pod) => labels.every(([name, value]) => pod[name] === value));
      expect(selected.length, `${kind}: ${JSON.stringify(labels)}`).toBeGreaterThan(0);
    }
    for (const { kind, spec } of workloads) if (kind === 'StatefulSet') expect(spec.replicas).toBe(1);
  });
});
