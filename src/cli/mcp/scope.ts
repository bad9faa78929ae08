import * as z from 'zod';

/** Which project the tools answer for: a fixed one, or the one that each call names. */
export type ProjectScope = {
  readonly fixed?: string;
};

/** The argument by which a call names its project; a fixed scope does not offer it. */
export const projectArgument = ({ fixed }: ProjectScope) =>
  fixed === undefined
    ? {
        project: z
          .string()
          .min(1)
          .max(128)
          .optional()
          .describe('Project to look in; "*" for all. Default: what the service and its key give.'),
      }
    : {};

export const projectOf = ({ fixed }: ProjectScope, args: object): string | undefined =>
  fixed ?? (args as { readonly project?: string }).project;

/** Where the window begins that nobody named. */
export const DEFAULT_FROM = '-24h';

export const window = {
  from: z
    .string()
    .max(64)
    .default(DEFAULT_FROM)
    .describe('Begin of the window: RFC 3339, or relative as -1h, -7d. Default: the last 24 hours.'),
  to: z.string().max(64).optional().describe('End of the window, exclusive. Default: now.'),
};

export const windowText = ({ from, to }: { readonly from: string; readonly to?: string | undefined }): string => {
  if (from === DEFAULT_FROM && to === undefined) return 'the last 24 hours';
  return `from ${from} to ${to ?? 'now'}`;
};
