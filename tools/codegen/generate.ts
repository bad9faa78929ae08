/**
 * Generates, from `spec/openapi.yaml` and `spec/definition.schema.json`, what the service is compiled and run with and what
 * the client libraries speak:
 *
 * - `src/model/generated/openapi.ts` (types) and `src/model/generated/openapi.json` (the document, so that the daemon needs
 *   no YAML parser);
 * - `sdk/typescript/src/generated/wire.ts` (types of the operations that the library calls);
 * - the models of the libraries in other languages, by our own emitters, which `sdk-outputs.ts` lists.
 *
 * Run `npm run codegen` after every change of the document; once this folder's dependencies are installed,
 * `node tools/codegen/generate.ts` does the same in a second.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { parse } from 'yaml';
import { specVersionOf } from './models.ts';
import { sdkDocument, type Tree } from './sdk-document.ts';
import { headed, modelOutputs } from './sdk-outputs.ts';

const root = new URL('../..', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const source = read('spec/openapi.yaml');
const document = parse(source) as Tree;

const write = (path: string, text: string): void => {
  const target = new URL(path, root);
  mkdirSync(new URL('.', target), { recursive: true });
  writeFileSync(target, text);
};
const settings = { immutable: true, defaultNonNullable: false } as const;

const types = astToString(await openapiTS(JSON.stringify(document), settings));
write('src/model/generated/openapi.ts', headed('spec/openapi.yaml', source, types));
write('src/model/generated/openapi.json', `${JSON.stringify(document, null, 1)}\n`);

/** What has no type in the document is any JSON: callers read it as that, and get an error when they send something else. */
const jsonForUnknown = (nodes: ts.Node[]): ts.Node[] => {
  const visit = (node: ts.Node): ts.Node =>
    node.kind === ts.SyntaxKind.UnknownKeyword
      ? ts.factory.createTypeReferenceNode('Json')
      : ts.visitEachChild(node, visit, undefined);
  return nodes.map(visit);
};
const JSON_TYPES = `/** Any JSON value, as data. */
export type Json = string | number | bigint | boolean | null | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };
`;

const definition = JSON.parse(read('spec/definition.schema.json')) as Tree;
const narrowed = JSON.stringify(sdkDocument(document, definition));
const nodes = await openapiTS(narrowed, { ...settings, rootTypes: true, rootTypesNoSchemaPrefix: true });
const SPEC_VERSION = `/** Of the data model that this module was made from. A service of another major is not understood. */
export const SPEC_VERSION = '${specVersionOf(document)}';
`;
const wireTypes = SPEC_VERSION + JSON_TYPES + astToString(jsonForUnknown(nodes));
write(
  'sdk/typescript/src/generated/wire.ts',
  headed('spec/openapi.yaml and spec/definition.schema.json', narrowed, wireTypes),
);

for (const { path, text } of modelOutputs(document, definition)) write(path, text);
