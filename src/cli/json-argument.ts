import { readFile } from 'node:fs/promises';
import type { Json } from '../model/json.ts';
import { quoted } from './printable.ts';

/** What is read of a file or of standard input: the service takes bodies of 4 MiB. */
const MOST_BYTES = 4 * 1024 * 1024;

export type ReadJson = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string };

const readAll = async (source: AsyncIterable<Uint8Array | string>): Promise<string | undefined> => {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of source) {
    const buffer = Buffer.from(piece);
    bytes += buffer.byteLength;
    if (bytes > MOST_BYTES) return undefined;
    pieces.push(buffer);
  }
  return Buffer.concat(pieces).toString('utf8');
};

/**
 * The JSON of a flag: as it stands, from a file as `@path`, or from standard input as `-`.
 * @param flag its name, for refusals, which repeat no text of a file
 */
export const readJsonArgument = async (
  flag: string,
  argument: string,
  input: AsyncIterable<Uint8Array | string>,
): Promise<ReadJson> => {
  const refused = (problem: string): ReadJson => ({ ok: false, problem: `${flag}: ${problem}` });
  let text: string | undefined = argument;
  let from = '';
  if (argument === '-') {
    from = 'standard input ';
    text = await readAll(input);
  } else if (argument.startsWith('@')) {
    const path = argument.slice(1);
    from = `${quoted(path)} `;
    try {
      const bytes = await readFile(path);
      text = bytes.byteLength > MOST_BYTES ? undefined : bytes.toString('utf8');
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
      return refused(`${from}cannot be read (${code})`);
    }
  }
  if (text === undefined) return refused(`${from}has more than ${MOST_BYTES} bytes`);
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch {
    return refused(
      from === ''
        ? `is not JSON: ${quoted(text)}; @path reads a file, - reads standard input`
        : `${from}does not hold one JSON document`,
    );
  }
};
