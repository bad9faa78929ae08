/**
 * Generates, from `spec/openapi.yaml`, what the service is compiled and run with:
 * `src/model/generated/openapi.ts` (types) and `src/model/generated/openapi.json` (the document, so that the daemon needs
 * no YAML parser). Run `npm run codegen` after every change of the document; once this folder's dependencies are
 * installed, `node tools/codegen/generate.ts` does the same in a second.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import { parse } from 'yaml';

const root = new URL('../../', import.meta.url);
const source = readFileSync(new URL('spec/openapi.yaml', root), 'utf8');
const document: unknown = parse(source);

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

const types = astToString(await openapiTS(JSON.stringify(document), { immutable: true, defaultNonNullable: false }));
const header = [
  '// Generated from spec/openapi.yaml by `npm run codegen`. Edit the document, not this file.',
  `// source sha256: ${digest(source)}`,
  `// content sha256: ${digest(types)}`,
  '',
].join('\n');

const target = new URL('src/model/generated/', root);
mkdirSync(target, { recursive: true });
writeFileSync(new URL('openapi.ts', target), header + types);
writeFileSync(new URL('openapi.json', target), `${JSON.stringify(document, null, 1)}\n`);
