import type { components as given, operations, paths as immutable } from '../../../src/model/generated/openapi.ts';

/**
 * Types of the interface document, made by `npm run codegen`. Types alone: nothing of the service runs in the browser. The
 * client cannot read lists that are `readonly`, so they are plain here.
 */
type Plain<T> = T extends readonly (infer E)[]
  ? Plain<E>[]
  : T extends object
    ? { -readonly [K in keyof T]: Plain<T[K]> }
    : T;

export type paths = Plain<immutable>;
export type components = Plain<given>;
/** The parameters of an operation's query. */
export type QueryOf<O extends keyof operations> = Plain<NonNullable<operations[O]['parameters']['query']>>;
