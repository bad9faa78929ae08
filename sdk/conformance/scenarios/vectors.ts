/** The shared tables, as scenarios read them. @see ../vectors */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const read = (name: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dirname, '..', 'vectors', `${name}.json`), 'utf8'));

export const sampling = read('sampling') as {
  readonly fractions: readonly number[];
  readonly cases: readonly { readonly trace_id: string; readonly kept: readonly boolean[] }[];
};

export const traceparents = read('traceparent') as {
  readonly cases: readonly {
    readonly header: string;
    readonly trace_id: string | null;
    readonly span_id: string | null;
    readonly why: string;
  }[];
};

export const decoding = read('decoding') as {
  readonly cases: readonly {
    readonly why: string;
    readonly model: string;
    readonly text: string;
    readonly expect: readonly { readonly path: string; readonly json: string | null }[];
    readonly needs?: string;
  }[];
};
