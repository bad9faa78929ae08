import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { sdkDocument, type Tree } from '../../tools/codegen/sdk-document.ts';
import { modelOutputs } from '../../tools/codegen/sdk-outputs.ts';

const root = new URL('../..', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const types = read('sdk/typescript/src/generated/wire.ts');
const openapi = parse(read('spec/openapi.yaml')) as Tree;
const definition = JSON.parse(read('spec/definition.schema.json')) as Tree;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('the wire types of the library for TypeScript (npm run codegen)', () => {
  it('were generated from what the document says of the operations that it calls', () => {
    const narrowed = JSON.stringify(sdkDocument(openapi, definition));
    expect(/^\/\/ source sha256: (\w+)$/m.exec(types)?.[1]).toBe(sha256(narrowed));
  });

  it('were not edited by hand', () => {
    const header = /^\/\/ content sha256: (\w+)\n/m.exec(types);
    expect(header?.[1]).toBe(sha256(types.slice((header?.index ?? 0) + (header?.[0].length ?? 0))));
  });

  it('grow stale with a changed member, and not with an operation that the library does not call', () => {
    const before = JSON.stringify(sdkDocument(openapi, definition));
    const changed = structuredClone(openapi) as {
      paths: Record<string, unknown>;
      components: { schemas: { Lease: { properties: Record<string, unknown> } } };
    };
    delete changed.paths['/v1/api/doctor'];
    expect(JSON.stringify(sdkDocument(changed, definition))).toBe(before);
    changed.components.schemas.Lease.properties['more'] = { type: 'string' };
    expect(JSON.stringify(sdkDocument(changed, definition))).not.toBe(before);
    delete changed.paths['/v1/api/runs/{run}'];
    expect(() => sdkDocument(changed, definition)).toThrow('the document has no operation getRun');
  });
});

describe('the models of the libraries in other languages (npm run codegen)', () => {
  const outputs = modelOutputs(openapi, definition);

  it('are what the document says now, file by file', () => {
    expect(outputs.length).toBeGreaterThan(1);
    for (const { path, text } of outputs) expect(read(path), path).toBe(text);
  });

  it('say from what they were generated, and that nobody edited them since', () => {
    const narrowed = JSON.stringify(sdkDocument(openapi, definition));
    for (const { path, text } of outputs) {
      const header = /^(?:(?:\/\/|#) source sha256: (\w+)\n)?(?:\/\/|#) content sha256: (\w+)\n/m.exec(text);
      // Of the many files of a package in Java, one says the first.
      const saysSource = !path.endsWith('.java') || path.endsWith('package-info.java');
      expect(header?.[1], path).toBe(saysSource ? sha256(narrowed) : undefined);
      expect(header?.[2], path).toBe(sha256(text.slice((header?.index ?? 0) + (header?.[0].length ?? 0))));
    }
  });

  it('grow stale with a changed member', () => {
    const changed = structuredClone(openapi) as {
      components: { schemas: { Lease: { properties: Record<string, unknown> } } };
    };
    changed.components.schemas.Lease.properties['more'] = { type: 'string' };
    const stale = modelOutputs(changed, definition)
      .filter(({ path, text }) => outputs.find((output) => output.path === path)?.text !== text)
      .map(({ path }) => path);
    expect(stale).toContain('sdk/java/src/main/java/dev/svc/wire/Lease.java');
    expect(stale).not.toContain('sdk/java/src/main/java/dev/svc/wire/Run.java');
    expect(stale.filter((path) => !path.endsWith('.java'))).toEqual(
      outputs.map(({ path }) => path).filter((path) => !path.endsWith('.java')),
    );
  });
});
