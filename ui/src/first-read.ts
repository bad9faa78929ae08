import { firstReadOf } from './api/early-read.ts';
import { presentedKey } from './api/key.ts';

/**
 * A script of its own, a kilobyte, which runs while those of the interface are on their way: it asks for what the page shows first
 * and for the scripts of that page. Otherwise these come one after the other: scripts, scripts of the page, answer.
 */

/** Scripts of the trace page beside those of every page; `build.mjs` writes them in. */
declare const TRACE_SCRIPTS: readonly string[];

const path = firstReadOf(location.pathname);
if (path !== undefined) {
  const key = presentedKey();
  const headers = key === '' ? {} : { authorization: `Bearer ${key}` };
  const answer = fetch(path, { headers });
  answer.catch(() => {}); // the client says so when it takes it
  globalThis.svcEarlyRead = { path, askedAt: performance.now(), answer };
  for (const script of TRACE_SCRIPTS) {
    const link = document.createElement('link');
    link.rel = 'modulepreload';
    link.crossOrigin = '';
    link.href = script;
    document.head.append(link);
  }
}
