/** The two names that we use; the package types them for CommonJS alone. */
declare module 'cephes' {
  /** Settles when the library can be called. */
  export const compiled: Promise<void>;
  /** The regularised incomplete beta function of `a`, `b` at `x`. */
  export function incbet(a: number, b: number, x: number): number;
}
