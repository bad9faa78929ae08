import type { Json } from '../model/json.ts';

export type MutableJsonObject = { [key: string]: Json };

/**
 * The prototype chain of every object built from outside keys ends here, in an object without members: `__proto__`,
 * `constructor` and their kind are plain keys. A constructor, because V8 keeps its instances in fast mode, while
 * `Object.create(null)` starts as a hash table (three times slower to write as JSON).
 */
const PlainKeys = function PlainKeys() {} as unknown as { new (): MutableJsonObject; prototype: object };
PlainKeys.prototype = Object.freeze(Object.create(null)) as object;

/** An empty object for keys that come from outside. */
export const newJsonObject = (): MutableJsonObject => new PlainKeys();
