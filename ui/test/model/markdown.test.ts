import { describe, expect, it } from 'vitest';
import { MARKDOWN_CHARACTERS, readMarkdown } from '../../src/model/markdown.ts';

const text = (words: string) => ({ kind: 'text', text: words });

describe('Markdown', () => {
  it('has headings, lists with their numbers, quotes, code, tables, rules and words of weight', () => {
    expect(
      readMarkdown(
        '# Plan\n\n3. **check** the `order`\n4. *refund*\n\n> as ~~asked~~\nagreed\n\n```js\nlet a;\n```\n\n|a|b|\n|-|-|\n|1|2|\n\n---\n',
      ),
    ).toEqual([
      { kind: 'heading', inner: [text('Plan')] },
      {
        kind: 'list',
        first: 3,
        items: [
          [
            {
              kind: 'paragraph',
              inner: [{ kind: 'strong', inner: [text('check')] }, text(' the '), { kind: 'code', text: 'order' }],
            },
          ],
          [{ kind: 'paragraph', inner: [{ kind: 'em', inner: [text('refund')] }] }],
        ],
      },
      {
        kind: 'quote',
        blocks: [
          {
            kind: 'paragraph',
            inner: [text('as '), { kind: 'del', inner: [text('asked')] }, { kind: 'break' }, text('agreed')],
          },
        ],
      },
      { kind: 'code', text: 'let a;' },
      { kind: 'table', head: [[text('a')], [text('b')]], rows: [[[text('1')], [text('2')]]] },
      { kind: 'rule' },
    ]);
  });

  it('says where a link or an image would lead, and has neither', () => {
    expect(readMarkdown('[pay](javascript:alert(1)) ![beacon](https://evil.example/a.png) https://x.example')).toEqual([
      {
        kind: 'paragraph',
        inner: [
          text('pay'),
          text(' (javascript:alert(1))'),
          text(' '),
          text('image: beacon'),
          text(' (https://evil.example/a.png)'),
          text(' '),
          text('https://x.example'),
        ],
      },
    ]);
  });

  it('has markup as the text that it is', () => {
    expect(readMarkdown('<img src=x onerror=alert(1)>')).toEqual([
      { kind: 'paragraph', inner: [text('<img src=x onerror=alert(1)>')] },
    ]);
  });

  it('stays plain above 150,000 characters, and with a paragraph above 10,000', () => {
    const paragraphs = (length: number): string => `${'a'.repeat(9_998)}\n\n`.repeat(15).slice(0, length);
    expect(readMarkdown(paragraphs(MARKDOWN_CHARACTERS))).toHaveLength(15);
    expect(readMarkdown(`${paragraphs(MARKDOWN_CHARACTERS)}a`)).toBeUndefined();
    expect(readMarkdown('a'.repeat(10_000))).toHaveLength(1);
    expect(readMarkdown('a'.repeat(10_001))).toBeUndefined();
  });

  it.each(['> ', '- ', '1. '])('has %j nested 49 deep in one line, and stays plain at 50', (mark) => {
    expect(readMarkdown(`${mark.repeat(49)}x`)).toBeDefined();
    expect(readMarkdown(`a\n${mark.repeat(50)}x`)).toBeUndefined();
  });

  it('has a rule of any length', () => {
    expect(readMarkdown(`a\n\n${'-'.repeat(200)}`)?.at(-1)).toEqual({ kind: 'rule' });
  });

  it.each(['**', '[', '*a **b ', '_a'])('has a paragraph of %j as the text that it is', (mark) => {
    const read = readMarkdown(`${mark.repeat(1_000)}x`);
    expect(read).toHaveLength(1);
    expect(JSON.stringify(read).length).toBeLessThan(100_000);
  });
});
