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
};
