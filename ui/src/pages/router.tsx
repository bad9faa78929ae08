import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { formatQuery, parseQuery } from '../model/url.ts';
import { Skeleton } from '../widgets/states.tsx';
import { ErrorPage, NotFoundPage } from './fallback-pages.tsx';
import { pages } from './pages.ts';
import { Shell } from './shell/shell.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFoundPage });

const routes = pages.map(({ path, load }) =>
  createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: (search: Record<string, unknown>) => search,
    component: lazyRouteComponent(load),
    errorComponent: ErrorPage,
    pendingComponent: () => <Skeleton what="the page" />,
  }),
);

/** Parameters stay texts: an address is read by the grammar of its page, not by the router. */
export const router = createRouter({
  routeTree: root.addChildren(routes),
  parseSearch: parseQuery,
  stringifySearch: (search) => formatQuery(search as Record<string, string>),
  // A page about another object begins anew: nothing of the one before is seen under its name.
  defaultRemountDeps: ({ params }) => params,
  defaultPendingMs: 150,
  scrollRestoration: true,
});
