import { Refusal } from '../model/failure.ts';
import type { Json } from '../model/json.ts';

export type MutableJsonObject = { [key: string]: Json };

/** Where the prototype chain of every object built from outside keys ends: `__proto__`, `constructor` and their kind are plain keys. */
const noMembers = Object.freeze(Object.create(null)) as object;

/**
 * A constructor, because V8 keeps its instances in fast mode, while `Object.create(null)` starts as a hash table (three
 * times slower to write as JSON).
 */
const PlainKeys = function PlainKeys() {} as unknown as { new (): MutableJsonObject; prototype: object };
PlainKeys.prototype = noMembers;

/** An empty object for keys that come from outside. */
export const newJsonObject = (): MutableJsonObject => new PlainKeys();

/**
 * An instance becomes a hash table all the same when it has more members outside of itself than inside, and more than twelve. Attributes
 * of a span beside those of its resource are often so many. So theirs get room inside: V8 counts the members that the constructor names, adds
 * eight, and takes back what the first instances do not use. With this room up to 48 are kept, copied to threads and written in half
 * to two thirds of the time.
 */
const ManyKeys = function ManyKeys(this: MutableJsonObject, never: boolean) {
  if (never) {
    this.a = this.b = this.c = this.d = this.e = this.f = this.g = this.h = null;
    this.i = this.j = this.k = this.l = this.m = this.n = this.o = this.p = null;
  }
} as unknown as { new (never: boolean): MutableJsonObject; prototype: object };
ManyKeys.prototype = noMembers;
const MEMBERS_INSIDE = 24;
const FIRST_INSTANCES = 8;
for (let instance = 0; instance < FIRST_INSTANCES; instance += 1) {
  const object = new ManyKeys(false);
  for (let member = 0; member < MEMBERS_INSIDE; member += 1) object[`member${member}`] = null;
}

/** Whether an object was made here. What is put into such an object is data that all stores can hold. */
export const isOurs = (object: object): object is MutableJsonObject => Object.getPrototypeOf(object) === noMembers;

/** The same for the attributes of a signal. */
export const newAttributes = (): MutableJsonObject => new ManyKeys(false);

/** Of a longer text V8 hashes the length alone: a set of many such compares each of them with each. In characters. */
export const LONGEST_HASHED = 16_383;
/** Longest name of an attribute or a member, in characters: objects that have thousands of longer ones would compare them. */
const LONGEST_NAME = LONGEST_HASHED;

/** @throws Refusal `payload_too_large` for a name that is too long */
export const checkName = (name: string): void => {
  if (name.length > LONGEST_NAME)
    throw new Refusal({
      code: 'payload_too_large',
      message: `the request has a name of an attribute or a member of ${name.length} characters, and a name has at most ${LONGEST_NAME}: put what it says into the value`,
    });
};

const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
/** The largest name that V8 takes for an index. */
const LAST_INDEX = 4_294_967_294;

/**
 * Gives an object for keys that come from outside a member. V8 keeps a member whose name is a number in an array, and makes room for all numbers
 * below: `{"1023": 0}` takes 12 KB. An object that has had a very large one keeps them in a hash table.
 * @throws Refusal `payload_too_large` for a name that is too long
 */
export const setMember = (object: MutableJsonObject, name: string, value: Json): void => {
  checkName(name);
  const first = name.charCodeAt(0);
  if (first >= DIGIT_0 && first <= DIGIT_9 && name.length > 1) {
    object[LAST_INDEX] = null;
    delete object[LAST_INDEX];
  }
  object[name] = value;
};
