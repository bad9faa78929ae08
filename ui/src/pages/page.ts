import type { LucideIcon } from 'lucide-react';
import type { ComponentType } from 'react';

/** The groups of the rail, in their order. */
export const sections = ['Observe', 'Judge', 'Guard', 'Run', 'System'] as const;
export type Section = (typeof sections)[number];

/** A page. A row of `pages.ts` is all that it takes to be found. */
export type Page = {
  /** `/traces` or `/traces/$traceId`; the first segment stands in `x-pages` of `spec/openapi.yaml`. */
  readonly path: string;
  /** Its script is loaded when it is first opened. */
  readonly load: () => Promise<{ readonly default: ComponentType }>;
  /** Its place in the rail; a page without one is reached by links. */
  readonly rail?: {
    /** Absent above all groups. */
    readonly section?: Section;
    readonly name: string;
    readonly icon: LucideIcon;
    /** The key after `g` that opens it. */
    readonly key?: string;
  };
  /** The page of the rail to which one belongs that lies neither in the rail nor below a page of it. */
  readonly under?: string;
};

/** @returns the path of the rail's entry for an address; nothing where no page stands there */
export const railPathOf = (pages: readonly Page[], pathname: string): string | undefined => {
  const under = pages.find(({ path }) => path === pathname)?.under;
  return pages.find(
    ({ path, rail }) =>
      rail !== undefined && (path === pathname || path === under || (path !== '/' && pathname.startsWith(`${path}/`))),
  )?.path;
};
