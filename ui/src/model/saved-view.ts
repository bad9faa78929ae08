import { type Params, parseQuery } from './url.ts';

/** A saved path, as the router opens it. */
export type SavedLink = { readonly to: string; readonly params: Params };

/** What a board draws of a view. */
export type Card =
  | { readonly kind: 'traces'; readonly params: Params }
  | { readonly kind: 'cost'; readonly params: Params }
  | { readonly kind: 'link' };

/** Views of a board, at the most. */
export const MOST_CHARTS = 12;

/**
 * A saved path comes from somebody else: it is opened only where it is a path of this origin, through the router.
 * @returns nothing for a path that a browser could read as another place
 */
export const linkOf = (path: string): SavedLink | undefined => {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for: browsers drop them
  if (!/^\/(?![/\\])/.test(path) || /[\u0000-\u0020\\\u007f]/.test(path)) return undefined;
  const at = path.indexOf('?');
  const to = at === -1 ? path : path.slice(0, at);
  if (to.includes('//')) return undefined;
  return { to, params: at === -1 ? {} : parseQuery(path.slice(at + 1)) };
};

/** Lists of traces and costs are drawn; every other view is a link. */
export const cardOf = (path: string): Card => {
  const link = linkOf(path);
  if (link?.to === '/traces') return { kind: 'traces', params: link.params };
  if (link?.to === '/cost') return { kind: 'cost', params: link.params };
  return { kind: 'link' };
};
