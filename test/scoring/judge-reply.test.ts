import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCompletion, readJudgement } from '../../src/scoring/judge-reply.ts';

const valueOf = (text: string): number | string => {
  const read = readJudgement(text);
  return read.ok ? read.value.value : read.reason;
};
const PROSE = 'the judge replied with prose, without a JSON object that has a `value`';

describe('the reply of a judge', () => {
  it.each<[string, string, number]>([
    ['a JSON object', '{"value": 0.75, "reason": "mostly"}', 0.75],
    ['JSON in a fenced block', 'Here is my grade:\n```json\n{"value": 1}\n```\nThank you.', 1],
    ['JSON in a sentence', 'I would say {"value": 0.25, "reason": "it {nearly} fits"} because of the tone.', 0.25],
    ['an object with others inside of it', 'So: {"value": 0.5, "details": {"tone": 1, "facts": {"n": 2}}}.', 0.5],
    [
      'the outermost, when its parts are graded too',
      '```\n{"value": 0.5, "parts": [{"value": 1}, {"of": {}}]}\n```',
      0.5,
    ],
    ['the last verdict, when the form was repeated first', 'The form is {"value": 0}. My grade: {"value": 0.9}', 0.9],
    ['a bare number', ' 0.4 ', 0.4],
    ['the lower end of the scale', '{"value": 0}', 0],
    ['the upper end of the scale', '{"value": 1}', 1],
  ])('is read: %s', (_name, text, value) => expect(valueOf(text)).toBe(value));

  it.each<[string, string, string]>([
    ['prose', 'This is a good answer, I give it full marks.', PROSE],
    ['prose with a number', 'I give it 0.8 of 1.', PROSE],
    ['nothing', '', PROSE],
    ['an object without a value', '{"score": 1}', PROSE],
    ['JSON that was cut off', '{"value": 0.5, "reason": "it', PROSE],
    [
      'a value above the scale, which is not clamped',
      '{"value": 1.01}',
      "the judge's value 1.01 is outside of the scale from 0 to 1",
    ],
    [
      'a value below the scale, which is not clamped',
      '{"value": -0.01}',
      "the judge's value -0.01 is outside of the scale from 0 to 1",
    ],
    ['a value of another scale', '7', "the judge's value 7 is outside of the scale from 0 to 1"],
    ['a value as a text', '{"value": "1"}', "the judge's `value` is not a number"],
    ['a value that is null', '{"value": null}', "the judge's `value` is not a number"],
  ])('declines: %s', (_name, text, reason) => expect(valueOf(text)).toBe(reason));

  it('keeps the reason, cut where it has no end', () => {
    const read = readJudgement(JSON.stringify({ value: 1, reason: 'x'.repeat(100_000) }));
    expect(read.ok && read.value.reason?.length).toBe(4_000);
  });

  it('is read in bounded time, however many braces it opens', () => expect(valueOf('{'.repeat(1_000_000))).toBe(PROSE));

  it('never throws, and never gives a value off the scale', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((text) => `so: ${text}!`),
        ),
        (text) => {
          const read = readJudgement(text);
          expect(!read.ok || (read.value.value >= 0 && read.value.value <= 1)).toBe(true);
        },
      ),
    );
  });
});

describe('a chat completion', () => {
  it('gives its text, model and usage', () =>
    expect(
      readCompletion(
        JSON.stringify({
          model: 'gpt-4o-mini-2024-07-18',
          choices: [{ message: { role: 'assistant', content: 'hi' } }],
          usage: {
            prompt_tokens: 10,
            completion_tokens: 5,
            total_tokens: 15,
            prompt_tokens_details: { cached_tokens: 4 },
            completion_tokens_details: { reasoning_tokens: 2 },
          },
        }),
      ),
    ).toEqual({
      text: 'hi',
      model: 'gpt-4o-mini-2024-07-18',
      usage: {
        inputTokens: 10,
        outputTokens: 5,
        totalTokens: 15,
        inputDetails: { cacheRead: 4 },
        outputDetails: { reasoning: 2 },
      },
    }));

  it.each(['', 'not JSON', '[]', '{}', '{"choices":[]}', '{"choices":[{"message":{"content":null}}]}', 'null'])(
    'is not: %s',
    (body) => expect(readCompletion(body)).toBeUndefined(),
  );
});
