import { readFileSync } from 'node:fs';
import { Refusal } from '../../model/failure.ts';
import { sendBuilt, sendReady } from '../answer/send-json.ts';
import type { PathOf } from '../contract/contract.ts';
import type { BuiltInterface } from '../page/built-interface.ts';
import type { Route } from '../route.ts';

/** Nothing from elsewhere, nothing inline, no frame around it. */
const PAGE_POLICY = [
  "default-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const A_YEAR_SECONDS = 31_536_000;

/**
 * The interface: one page at `/` and at the paths that the document names, and what that page loads. It is markup alone;
 * what it shows comes through the query API with its reader's key.
 *
 * Where it was not built, `/` is a simpler page: how to build the interface, how to send the first trace, and what has arrived.
 */
export const pageRoutes = (built: BuiltInterface | undefined): Route[] => {
  const open = (path: string, operationId: string, handler: Route['handler']): Route => ({
    method: 'GET',
    path,
    scope: 'open',
    operationId,
    surface: 'operations',
    handler: (request, reply) => {
      reply
        .header('content-security-policy', PAGE_POLICY)
        .header('x-content-type-options', 'nosniff')
        .header('referrer-policy', 'no-referrer')
        .header('cache-control', 'no-cache');
      return handler(request, reply);
    },
  });
  const simple = (name: string, type: string): Route['handler'] => {
    const text = readFileSync(new URL(`../page/${name}`, import.meta.url), 'utf8');
    return (request, reply) => sendReady(request, reply, type, text);
  };
  return [
    open(
      '/',
      'getPage',
      built === undefined
        ? simple('page.html', 'text/html; charset=utf-8')
        : (request, reply) => sendBuilt(request, reply, built.page),
    ),
    open('/assets/:file', 'getPageAsset', (request, reply) => {
      const { file } = request.params as PathOf<'getPageAsset'>;
      const asset = built?.assets.get(file);
      if (asset === undefined)
        throw new Refusal({ code: 'not_found', message: 'the interface has no such file; load its page again' });
      return sendBuilt(request, reply.header('cache-control', `public, max-age=${A_YEAR_SECONDS}, immutable`), asset);
    }),
    open('/page.js', 'getPageScript', simple('page.js', 'text/javascript; charset=utf-8')),
    open('/page.css', 'getPageStyle', simple('page.css', 'text/css; charset=utf-8')),
  ];
};
