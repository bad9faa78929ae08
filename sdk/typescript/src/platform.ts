import type { Transport } from './transport.ts';

/** A value that code runs under, which the code that it calls can read. */
export type ContextStorage<T> = {
  readonly getStore: () => T | undefined;
  readonly run: <R>(value: T, body: () => R) => R;
};

/** What recording needs of where it runs. */
export type Platform = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Random bytes as lower-case hex. */
  readonly randomHex: (bytes: number) => string;
  readonly createStorage: <T>() => ContextStorage<T>;
  readonly createTransport: (service: { endpoint: string; apiKey?: string | undefined }) => Transport;
};

/**
 * Another tracer whose spans are parents of ours, and ours of its. @see `bridgeOpenTelemetry`
 */
export type ContextBridge = {
  /** Its span around the call. */
  readonly active: () => { readonly traceId: string; readonly spanId: string } | undefined;
  /** Runs the body with our span as the one around it. */
  readonly run: <T>(
    span: { readonly traceId: string; readonly spanId: string; readonly isKept: boolean },
    body: () => T,
  ) => T;
};
