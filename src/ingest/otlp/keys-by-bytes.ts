import type { AttributeKey } from '../mapping/key.ts';
import { ByteCache } from '../words.ts';

/** Attribute names by their bytes: a name that comes a thousand times a batch is decoded and looked up once. */
export const keysByBytes = new ByteCache<AttributeKey>(96);
