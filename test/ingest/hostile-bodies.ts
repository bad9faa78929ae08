import { foundByBodies } from './hostile/found-by.ts';
import { honestBodies } from './hostile/honest.ts';
import { jsonBodies } from './hostile/json.ts';
import { namesBodies } from './hostile/names.ts';
import { nothingBodies } from './hostile/nothing.ts';
import { redactionBodies } from './hostile/redaction.ts';
import { saidOnceBodies } from './hostile/said-once.ts';
import { valuesBodies } from './hostile/values.ts';
import { withinBoundsBodies } from './hostile/within-bounds.ts';
import type { HostileBody } from './hostile/shapes.ts';

export type { HostileBody };
export { MOST_BYTES, noise, ofRound, sentInRound } from './hostile/shapes.ts';

/** Bodies of at most 1 MiB as sent that are built to cost more than they mean, and honest ones to read them against. */
export const hostileBodies: readonly HostileBody[] = [
  ...nothingBodies,
  ...namesBodies,
  ...valuesBodies,
  ...saidOnceBodies,
  ...foundByBodies,
  ...withinBoundsBodies,
  ...redactionBodies,
  ...jsonBodies,
  ...honestBodies,
];
