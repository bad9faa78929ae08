import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/model/json.ts';
import { findAnswer, findInput } from '../../src/scoring/answer.ts';
import { aRoot, aSpan } from './a-run.ts';

const textOf = (output: Json): string | undefined => findAnswer({ spans: [aRoot({ output })] })?.text;

describe('the answer of a run', () => {
  it('is the output of its root span, whatever models said below it', () =>
    expect(
      findAnswer({
        spans: [
          aRoot({ output: 'from the root' }),
          aSpan({ kind: 'model_generation', output: 'from a model', at: 900 }),
        ],
      })?.text,
    ).toBe('from the root'));

  it('is else the output of the model span that ended last', () =>
    expect(
      findAnswer({
        spans: [
          aRoot(),
          aSpan({ kind: 'model_generation', output: 'second', at: 500, took: 400 }),
          aSpan({ kind: 'model_generation', output: 'first', at: 600, took: 100 }),
          aSpan({ kind: 'tool_call', output: 'a tool said this', at: 1_000 }),
        ],
      })?.text,
    ).toBe('second'));

  it('is empty where the root says that it answered nothing', () => {
    const model = aSpan({ kind: 'model_generation', output: 'a thought' });
    expect(findAnswer({ spans: [aRoot({ output: '' }), model] })?.text).toBe('');
    expect(textOf({})).toBe('');
    expect(textOf([])).toBe('');
  });

  it('is not there without an output; null is none', () => {
    expect(findAnswer({ spans: [aRoot()] })).toBeUndefined();
    expect(findAnswer({ spans: [aRoot({ output: null }), aSpan({ kind: 'tool_call', output: 'x' })] })).toBeUndefined();
  });

  it('comes from the earliest of several roots', () =>
    expect(findAnswer({ spans: [aRoot({ output: 'late', at: 50 }), aRoot({ output: 'early', at: 0 })] })?.text).toBe(
      'early',
    ));

  it.each<[string, Json, string]>([
    ['a text', 'Your order arrives on Friday.', 'Your order arrives on Friday.'],
    ['a number', 42, '42'],
    ['structured data', { total: 3, currency: 'EUR' }, '{"total":3,"currency":"EUR"}'],
    ['structured data with a field that messages have too', { content: 'x', id: 7 }, '{"content":"x","id":7}'],
    ['OpenTelemetry output messages', [{ role: 'assistant', parts: [{ type: 'text', content: 'Hello.' }] }], 'Hello.'],
    [
      'OpenTelemetry output messages as a JSON text',
      '[{"role":"assistant","parts":[{"type":"text","content":"Hello."}],"finish_reason":"stop"}]',
      'Hello.',
    ],
    ['a chat completion', { choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' } }] }, 'Hi.'],
    [
      'an Anthropic message',
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'A' },
          { type: 'text', text: 'B' },
        ],
      },
      'AB',
    ],
    [
      'an OpenAI response',
      {
        output: [
          { type: 'reasoning' },
          { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'R' }] },
        ],
      },
      'R',
    ],
    ['a Gemini response', { candidates: [{ content: { role: 'model', parts: [{ text: 'G' }] } }] }, 'G'],
    [
      'LangChain messages',
      {
        messages: [
          { type: 'human', content: 'Q' },
          { type: 'ai', content: 'A' },
        ],
      },
      'A',
    ],
    [
      'LangChain messages as they serialise',
      [{ lc: 1, type: 'constructor', id: ['langchain', 'AIMessage'], kwargs: { type: 'ai', content: 'K' } }],
      'K',
    ],
    [
      'a conversation whose last message only calls a tool',
      [
        { role: 'assistant', content: 'I will look.' },
        { role: 'user', content: 'thanks' },
        { role: 'assistant', content: null, tool_calls: [{ id: '1' }] },
      ],
      'I will look.',
    ],
    ['a message that only calls a tool', { role: 'assistant', tool_calls: [{ id: '1' }] }, ''],
    ['what the user said, and nothing else', [{ role: 'user', content: 'hello?' }], ''],
    ['a text that only looks like messages', '{"role": not JSON', '{"role": not JSON'],
  ])('reads %s', (_name, output, text) => expect(textOf(output)).toBe(text));

  it('survives messages nested without end', () => {
    let payload: Json = 'x';
    for (let i = 0; i < 100; i++) payload = { messages: [payload] };
    expect(textOf(payload)).toBe(JSON.stringify(payload));
  });
});

describe('the input of a run', () => {
  it('is that of the root span, else of the earliest span that has one', () => {
    expect(findInput({ spans: [aSpan({ input: 'below' }), aRoot({ input: 'root' })] })).toBe('root');
    expect(findInput({ spans: [aRoot(), aSpan({ input: 'later', at: 5 }), aSpan({ input: 'sooner', at: 1 })] })).toBe(
      'sooner',
    );
    expect(findInput({ spans: [aRoot()] })).toBeUndefined();
  });
});
