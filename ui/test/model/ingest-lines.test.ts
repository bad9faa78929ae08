import { describe, expect, it } from 'vitest';
import { ingestLines, requestFiles } from '../../src/model/ingest-lines.ts';

describe('a trace as lines for ingest', () => {
  it('has a line for each signal, as it stands in the answer', () => {
    const answer =
      '{"trace":{"spans":[1]},"spans":[{"span_id":"a"}, {"span_id":"b"}],"scores":[],"logs":[{"message":"x"}],"truncated":["logs"]}';
    expect(ingestLines(answer).lines).toEqual([
      '{"spans":[{"span_id":"a"}]}',
      '{"spans":[{"span_id":"b"}]}',
      '{"logs":[{"message":"x"}]}',
    ]);
  });

  it('changes no number: integers of 64 bits and decimals stay as they were written', () => {
    const span = '{"attributes":{"big":9223372036854775807,"exact":0.10000000000000000555,"e":1E+2}}';
    expect(ingestLines(`{"spans":[${span}]}`).lines).toEqual([`{"spans":[${span}]}`]);
  });

  it('is not misled by brackets, quotes and backslashes inside of texts', () => {
    const span = JSON.stringify({ input: ']}"\\', name: '\\"],"logs":[{', output: ['{', '\\\\'] });
    expect(ingestLines(`{"spans":[${span}],"logs":[]}`).lines).toEqual([`{"spans":[${span}]}`]);
  });

  it('goes as deep as an answer does', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    expect(ingestLines(`{"spans":[{"input":${deep}}]}`).lines).toHaveLength(1);
  });

  it('says which lists the service cut', () => {
    expect(ingestLines('{"spans":[],"logs":[],"truncated":["logs"]}').cut).toEqual(['logs']);
    expect(ingestLines('{"aspect_notes":[],"next_cursor":"x"}').cut).toEqual(['aspect_notes']);
    expect(ingestLines('{"aspect_notes":[{"next_cursor":"x"}]}').cut).toEqual([]);
  });

  it('refuses an answer that ends too early', () => {
    expect(() => ingestLines('{"spans":[{"name":"a"')).toThrow(SyntaxError);
    expect(() => ingestLines('{"spans":[{"name":"a')).toThrow(SyntaxError);
  });

  it('is cut into files that are each one request, by signals and by bytes', () => {
    const bounds = { signals: 2, bytes: 1000 };
    expect(requestFiles(['1', '2', '3'], bounds)).toEqual(['1\n2\n', '3\n']);
    expect(requestFiles(['1', '2'], bounds)).toEqual(['1\n2\n']);
    expect(requestFiles([], bounds)).toEqual([]);
    const narrow = { signals: 100, bytes: 8 };
    expect(requestFiles(['€€', 'a'], narrow)).toEqual(['€€\n', 'a\n']);
    expect(requestFiles(['x'.repeat(50), 'a'], narrow)).toEqual([`${'x'.repeat(50)}\n`, 'a\n']);
  });
});
