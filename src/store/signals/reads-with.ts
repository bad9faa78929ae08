import type { SignalReads } from './signal-store.ts';

/** The reads of an engine as functions, which are handed first what they ask it with. */
export type ReadsWith<A> = {
  readonly [M in keyof SignalReads]: (asker: A, ...args: Parameters<SignalReads[M]>) => ReturnType<SignalReads[M]>;
};

/** Binds the reads of an engine to one asker: a connection, a database. */
export const readsWith = <A>(asker: A, reads: ReadsWith<A>): SignalReads =>
  Object.fromEntries(
    Object.entries(reads as Readonly<Record<string, (asker: A, ...args: unknown[]) => unknown>>).map(([name, read]) => [
      name,
      (...args: unknown[]) => read(asker, ...args),
    ]),
  ) as unknown as SignalReads;
