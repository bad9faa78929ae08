import { Refusal } from '../model/failure.ts';

/**
 * Attributes and members of payloads that any request may bring, however few bytes were received, and how many received
 * bytes allow one more. Each costs a microsecond on its way to the disk; compressed, thousands are a few bytes.
 */
const FREE_KEYS = 150_000;
const BYTES_PER_KEY = 8;
/** Most of them in one request, whatever its size. */
export const MOST_KEYS = 1_000_000;

/** Most members of one object, and attributes of one signal. Exporters stop at 128 unless they are set otherwise. */
export const MOST_KEYS_OF_ONE = 10_000;

/** Most different names in one body. A name that nobody has seen before costs some five times as much as a known one. */
export const MOST_NAMES = 25_000;

/** How many keys a request may bring of which so many bytes were received. */
export const mostKeys = (receivedBytes: number): number =>
  Math.min(MOST_KEYS, FREE_KEYS + Math.floor(receivedBytes / BYTES_PER_KEY));

const tooMany = (message: string): Refusal =>
  new Refusal({ code: 'payload_too_large', message: `${message}; send smaller batches` });

/** @see mostKeys */
const tooManyKeys = (most: number): Refusal =>
  tooMany(
    `the request has more than ${most} attributes and members of payloads, which is the most for a body of its size ` +
      `(${FREE_KEYS}, and one for each ${BYTES_PER_KEY} bytes received)`,
  );
export const tooManyKeysOfOne = (): Refusal =>
  tooMany(`an object or a signal of the request has more than ${MOST_KEYS_OF_ONE} members or attributes`);

/** Counts the different names of one body. */
export class NameCount {
  /** As they came while so few came that they may all differ: almost every body needs no set. */
  private names: string[] | Set<string> = [];

  /** @throws Refusal `payload_too_large` when there are more than `MOST_NAMES` */
  add(name: string): void {
    if (Array.isArray(this.names)) {
      if (this.names.push(name) <= MOST_NAMES) return;
      this.names = new Set(this.names);
    } else this.names.add(name);
    if (this.names.size > MOST_NAMES)
      throw tooMany(`the request has more than ${MOST_NAMES} different names of attributes and members`);
  }
}

/** Counts the keys of one body while it is read. */
export class KeyCount {
  /** Keys so far. */
  count = 0;
  /** Its names; a reader may leave out those that it knows from earlier bodies. */
  readonly names = new NameCount();
  private readonly most: number;

  /** @param most refuses the request above it; `mostKeys` of what was received */
  constructor(most: number) {
    this.most = most;
  }

  /** @throws Refusal `payload_too_large` */
  add(): void {
    if (++this.count > this.most) throw tooManyKeys(this.most);
  }
}
