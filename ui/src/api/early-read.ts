/**
 * What the page asks the service for before its scripts have arrived: `first-read.ts` begins it, the client takes it over. The two are
 * separate scripts, so that it passes through the global object.
 */
export type EarlyRead = {
  /** Path and query, as the client will ask. */
  readonly path: string;
  /** By the steady clock of the tab, in milliseconds. */
  readonly askedAt: number;
  readonly answer: Promise<Response>;
};

declare global {
  var svcEarlyRead: EarlyRead | undefined;
}

/** Later than this it is not what a reader asks for now. */
const KEPT_MS = 10_000;

const TRACE_PAGE = /^\/traces\/([0-9a-f]{32})$/;

/** What the page of a trace asks for first: `traceQuery` with what the page includes. @returns nothing for other pages */
export const firstReadOf = (pathname: string): string | undefined => {
  const id = TRACE_PAGE.exec(pathname)?.[1];
  return id === undefined ? undefined : `/v1/api/traces/${id}?payloads=none&include=scores%2Cfeedback`;
};

/** What was already asked for, once. @returns nothing where the request is another one */
export const takeEarlyRead = ({ method, url }: Request): EarlyRead | undefined => {
  const early = globalThis.svcEarlyRead;
  if (early === undefined || method !== 'GET' || !url.endsWith(early.path)) return undefined;
  globalThis.svcEarlyRead = undefined;
  return performance.now() - early.askedAt > KEPT_MS ? undefined : early;
};
