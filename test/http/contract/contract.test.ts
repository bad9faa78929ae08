import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { apiOperations } from '../../../src/http/contract/contract.ts';
import { failureCodes } from '../../../src/model/failure.ts';
import openapi from '../../../src/model/generated/openapi.json' with { type: 'json' };
import { scopes } from '../../../src/model/scope.ts';
import { authorKinds, feedbackKinds, metricTypes, scoreSources, severities } from '../../../src/model/signal.ts';
import { spanKinds, spanStatuses } from '../../../src/model/span.ts';
import { costGroupings, traceSorts } from '../../../src/store/signals/query.ts';

const root = new URL('../../..', import.meta.url);
const source = readFileSync(new URL('spec/openapi.yaml', root), 'utf8');
const types = readFileSync(new URL('src/model/generated/openapi.ts', root), 'utf8');
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('generated files (npm run codegen)', () => {
  it('the run-time document is spec/openapi.yaml', () => expect(openapi).toEqual(parse(source)));
  it('the types were generated from spec/openapi.yaml as it is', () => {
    expect(/^\/\/ source sha256: (\w+)$/m.exec(types)?.[1]).toBe(sha256(source));
  });
  it('the types were not edited by hand', () => {
    const header = /^\/\/ content sha256: (\w+)\n/m.exec(types);
    expect(header).not.toBeNull();
    if (header === null) return;
    expect(header[1]).toBe(sha256(types.slice(header.index + header[0].length)));
  });
  it('the generator’s lock file holds no registry address', () =>
    expect(readFileSync(new URL('tools/codegen/package-lock.json', root), 'utf8')).not.toMatch(
      /"resolved"|https?:\/\/registry/,
    ));
});

describe('the document', () => {
  it('holds no empty value: an unquoted comma in a line would end a description there', () => {
    const empty: string[] = [];
    const walk = (value: unknown, path: string): void => {
      if (value === null) empty.push(path);
      else if (typeof value === 'object') for (const [key, part] of Object.entries(value)) walk(part, `${path}/${key}`);
    };
    walk(openapi, '');
    expect(empty).toEqual([]);
  });
});

describe('the document is read by generators of other languages', () => {
  const schemas: [place: string, schema: Record<string, unknown>][] = [];
  const walk = (value: unknown, place: string): void => {
    if (typeof value !== 'object' || value === null) return;
    if (!Array.isArray(value)) schemas.push([place, value as Record<string, unknown>]);
    for (const [key, part] of Object.entries(value))
      if (key !== 'example' && key !== 'examples') walk(part, `${place}/${key}`);
  };
  walk(openapi, '');
  const placesOf = (isSo: (schema: Record<string, unknown>) => boolean): string[] =>
    schemas.flatMap(([place, schema]) => (isSo(schema) ? [place] : []));

  it('a value has one type, or is null: other forms are branches of `anyOf`', () =>
    expect(placesOf(({ type }) => Array.isArray(type) && type.filter((name) => name !== 'null').length !== 1)).toEqual(
      [],
    ));
  it('a pattern has no classes of Unicode, which other engines do not know or know only with a flag', () => {
    const patterns = schemas.flatMap(([, { pattern }]) => (typeof pattern === 'string' ? [pattern] : []));
    expect(patterns.length).toBeGreaterThan(5);
    expect(patterns.filter((pattern) => /\\p\{/i.test(pattern))).toEqual([]);
  });
  it('an integer is bounded within 32 bits or is an int64: generators take others for 32 bits', () => {
    const isInteger = ({ type }: Record<string, unknown>): boolean => [type].flat().includes('integer');
    const fitsIn32Bits = ({ minimum, maximum }: Record<string, unknown>): boolean =>
      Number(minimum) >= -(2 ** 31) && Number(maximum) < 2 ** 31;
    expect(placesOf((schema) => isInteger(schema) && schema['format'] === 'int64').length).toBeGreaterThan(100);
    expect(placesOf((schema) => isInteger(schema) && schema['format'] !== 'int64' && !fitsIn32Bits(schema))).toEqual(
      [],
    );
  });
  it('no schema depends on `if`', () => expect(placesOf((schema) => 'if' in schema && 'then' in schema)).toEqual([]));
  it('no two components have one name, in whatever case: they become types of one package', () => {
    const names = Object.values(openapi.components).flatMap((section) =>
      Object.keys(section).map((name) => name.toLowerCase()),
    );
    expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([]);
  });
});

describe('a value that may have several forms', () => {
  const complete = (usage: unknown): string => {
    try {
      apiOperations().get('completeStep')?.checkJson({ worker_id: 'w', usage });
      return 'taken';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const report = { input_tokens: 1 };
  it.each([
    ['one form', report, 'taken'],
    ['the other', [report, report], 'taken'],
    ['neither', 'much', '`usage` must be an object or an array'],
    ['a member that neither knows', { much: 1 }, '`usage.much` is not known here'],
    ['a fault within one', { input_tokens: -1 }, '`usage.input_tokens` must be at least 0'],
    ['a fault within the other', [report, { input_tokens: -1 }], '`usage.1.input_tokens` must be at least 0'],
  ])('%s', (_name, usage, outcome) => expect(complete(usage)).toBe(outcome));
  it('where no form is null, null means absent', () => {
    const body = { worker_id: 'w', usage: null };
    apiOperations().get('completeStep')?.checkTyped(body);
    expect(body).toEqual({ worker_id: 'w' });
  });
});

describe('the document and the domain speak of the same values', () => {
  const schemas = openapi.components.schemas;
  const sorts = openapi.paths['/v1/api/traces'].get.parameters.find((parameter) => parameter.name === 'sort')?.schema;
  it.each([
    ['failure codes', schemas.Error.properties.code.enum, failureCodes],
    ['scopes', schemas.Scope.enum, scopes],
    ['span kinds', schemas.SpanKind.enum, spanKinds],
    ['span statuses', schemas.SpanStatus.enum, spanStatuses],
    ['severities', schemas.Severity.enum, severities],
    ['feedback kinds', schemas.FeedbackKind.enum, feedbackKinds],
    ['author kinds', schemas.AuthorKind.enum, authorKinds],
    ['score sources', schemas.ScoreSource.enum, scoreSources],
    ['metric types', schemas.MetricName.properties.type.enum, metricTypes],
    ['groupings', schemas.CostGrouping.enum, costGroupings],
    ['trace sorts', sorts !== undefined && 'enum' in sorts ? sorts.enum : undefined, traceSorts],
  ])('%s', (_name, documented, known) => expect(documented).toEqual([...known]));
});

describe('every operation of the document', () => {
  const items = Object.entries(openapi.paths as unknown as Record<string, Record<string, Record<string, unknown>>>);
  const all = items.flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== 'parameters')
      .map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  );
  it.each(all)('%s has an id, a scope, a tag, a summary and answers', (_name, operation) => {
    expect(operation['operationId']).toMatch(/^[a-z][A-Za-z]+$/);
    expect([...scopes, 'open']).toContain(operation['x-scope']);
    expect(operation['tags']).toHaveLength(1);
    expect(operation['summary']).toBeTruthy();
    expect(Object.keys(operation['responses'] as object).length).toBeGreaterThan(0);
  });
  it('is compiled once, under its own id', () => expect(apiOperations().size).toBe(all.length));
  it.each(all.filter(([, operation]) => operation['x-scope'] !== 'open'))(
    '%s says how it refuses a key',
    (_name, operation) => {
      expect(Object.keys(operation['responses'] as object)).toEqual(expect.arrayContaining(['401', '403']));
    },
  );
});
