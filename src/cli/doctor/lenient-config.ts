import type { RefusedSample } from './deployment.ts';

type Block = { sample?: unknown };

/**
 * Takes out of a config file the sampling fractions of projects that are numbers outside 0.0 to 1.0, so that the check can
 * report them and go on with the rest. The service itself refuses to start with such a file.
 * @param text the file; what is no JSON object comes back as it is, for the ordinary reading to refuse
 * @see Interface specification, "Deployment check", limits
 */
export const takeRefusedSamples = (
  text: string,
): { readonly text: string; readonly refused: readonly RefusedSample[] } => {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    return { text, refused: [] };
  }
  const projects = (file as { projects?: Readonly<Record<string, Block>> } | null)?.projects;
  if (typeof projects !== 'object' || projects === null) return { text, refused: [] };
  const refused: RefusedSample[] = [];
  for (const [project, block] of Object.entries(projects)) {
    const sample = (block as Block | null)?.sample;
    if (typeof sample !== 'number' || (sample >= 0 && sample <= 1)) continue;
    refused.push({ project, sample });
    delete block.sample;
  }
  return refused.length === 0 ? { text, refused } : { text: JSON.stringify(file), refused };
};
