import { readFileSync } from 'node:fs';
import { sendReady } from '../answer/send-json.ts';
import type { Route } from '../route.ts';

/** Nothing from elsewhere, nothing inline, no frame around it. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The page at `/`: how to send the first trace, and what has arrived. It is markup alone; what it shows comes through the
 * query API with its reader's key.
 */
export const pageRoutes = (): Route[] => {
  const file = (path: string, operationId: string, name: string, type: string): Route => {
    const text = readFileSync(new URL(`../page/${name}`, import.meta.url), 'utf8');
    return {
      method: 'GET',
      path,
      scope: 'open',
      operationId,
      surface: 'operations',
      handler: (request, reply) => {
        reply.header('content-security-policy', PAGE_POLICY).header('cache-control', 'no-cache');
        return sendReady(request, reply, type, text);
      },
    };
  };
  return [
    file('/', 'getPage', 'page.html', 'text/html; charset=utf-8'),
    file('/page.js', 'getPageScript', 'page.js', 'text/javascript; charset=utf-8'),
    file('/page.css', 'getPageStyle', 'page.css', 'text/css; charset=utf-8'),
  ];
};
