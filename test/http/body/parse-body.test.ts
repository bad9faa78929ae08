import { describe, expect, it } from 'vitest';
import { parseBody } from '../../../src/http/body/parse-body.ts';
import { parseJsonText } from '../../../src/ingest/json-text.ts';
import { MOST_KEYS_OF_ONE, MOST_NAMES, mostKeys } from '../../../src/ingest/keys.ts';
import { mostWork, WorkCount } from '../../../src/ingest/work.ts';
import { Refusal } from '../../../src/model/failure.ts';

const MOST_SIGNALS = 10_000;
const MIB = 1024 * 1024;
const times = (count: number, text: (n: number) => string, between = ','): string =>
  Array.from({ length: count }, (_, n) => text(n)).join(between);
const names = (count: number, prefix = 'n'): string => `{${times(count, (n) => `"${prefix}${n}":0`)}}`;

/** What becomes of a body of which so many bytes were received; without a count it came as it is. */
const parse = (text: string, receivedBytes = Buffer.byteLength(text)): string => {
  try {
    parseBody(Buffer.from(text), receivedBytes, mostWork(receivedBytes, MOST_SIGNALS));
    return 'read';
  } catch (error) {
    if (error instanceof Refusal) return `${error.failure.code}: ${error.failure.message}`;
    throw error;
  }
};
const payloadTooLarge = (what: string) => expect.stringContaining(`payload_too_large: ${what}`);

describe('names and members of the body of a call', () => {
  it.each([
    [MOST_KEYS_OF_ONE, 'read'],
    [MOST_KEYS_OF_ONE + 1, payloadTooLarge(`an object or a signal of the request has more than ${MOST_KEYS_OF_ONE}`)],
  ])('%i members of one object', (count, outcome) => {
    expect(parse(`{"input":${names(count)}}`)).toEqual(outcome);
  });

  it.each([
    [MOST_NAMES, 'read'],
    [MOST_NAMES + 1, payloadTooLarge(`the request has more than ${MOST_NAMES} different names`)],
  ])('%i different names', (count, outcome) => {
    const half = Math.floor(MOST_NAMES / 5);
    const objects = times(4, (n) => names(half, `o${n}x`));
    expect(parse(`{"input":[${objects},${names(count - 4 * half, 'o5x')}]}`)).toEqual(outcome);
  });

  it('members in all: more for each byte received', () => {
    const received = 8000;
    const most = mostKeys(received);
    const ofEach = 100;
    const text = (members: number): string =>
      `{"input":[${times(Math.floor(members / ofEach), () => names(ofEach))},${names(members % ofEach)}]}`;
    expect(parse(text(most), received)).toBe('read');
    const over = text(most + 1);
    expect(parse(over, received)).toEqual(payloadTooLarge(`the request has more than ${most} attributes and members`));
    expect(parse(over)).toBe('read');
  });

  it('members of the body itself are named by the call and count for nothing', () => {
    const received = 8000;
    const most = mostKeys(received);
    const filled = `"input":[${times(most / 100, () => names(100))}]`;
    expect(parse(`{"item_id":"a","metadata":{},${filled}}`, received)).toBe('read');
  });
});

describe('the work of the body of a call', () => {
  const tooMuchWork = payloadTooLarge('the request would take more processor time than one of its size may');
  /** How many times a part may stand in a body of which little was received, by what the first thousands of them cost. */
  const mostOf = (text: (count: number) => string): number => {
    const workOf = (count: number): number => {
      const body = Buffer.from(text(count));
      const counted = new WorkCount();
      counted.addPayload(body.length, parseJsonText(body), Number.POSITIVE_INFINITY);
      return counted.work;
    };
    const [none, some] = [workOf(0), workOf(10_000)];
    return ((mostWork(0, MOST_SIGNALS) - none) / (some - none)) * 10_000;
  };

  it.each([
    ['empty lists', (count: number) => `{"input":[${'[],'.repeat(count)}0]}`],
    ['numbers', (count: number) => `{"input":[${'7,'.repeat(count)}0]}`],
    ['escapes behind which redaction looks', (count: number) => `{"input":"${'\\\\u005cu005c'.repeat(count)}"}`],
    ['names in a text', (count: number) => `{"comment":"{${'\\"token\\":0,'.repeat(count)}"}`],
  ])('%s: as much as is free, and more for each byte received', (_name, text) => {
    const most = mostOf(text);
    expect(parse(text(Math.floor(0.99 * most)), 8000)).toBe('read');
    const over = text(Math.ceil(1.01 * most));
    expect(parse(over, 8000)).toEqual(tooMuchWork);
    expect(parse(over, 2 * MIB)).toBe('read');
  });

  it.each([
    ['a text of 8 MiB', `{"input":"${'the quick brown fox '.repeat((8 * MIB) / 20)}"}`],
    [
      '10,000 cases of 300 characters',
      `{"input":[${times(10_000, (n) => `{"id":${n},"question":"${'why is the sky blue '.repeat(15)}","expected":"scattering"}`)}]}`,
    ],
    ['a table of 100,000 numbers', `{"input":{"embedding":[${times(100_000, (n) => `0.${n}1`)}]}}`],
    [
      'JSON in a text, 2 MiB',
      `{"input":${JSON.stringify(`[${times(40_000, (n) => `{"id":${n},"text":"a few words and a quote"}`)}]`)}}`,
    ],
  ])('%s may be compressed to nothing', (_name, text) => {
    expect(parse(text, 8000)).toBe('read');
  });
});

it('what is no JSON is refused as ever', () => {
  expect(parse('{"a":')).toMatch(/^invalid_body: /);
});
