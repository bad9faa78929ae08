import { expect, it } from 'vitest';
import { encodeRows } from '../../../src/store/clickhouse/row-binary.ts';

it('writes rows as RowBinary has them', () => {
  const bytes = encodeRows(
    [
      ['text', 'String'],
      ['none', 'Nullable(String)'],
      ['some', 'Nullable(Int64)'],
      ['small', 'UInt8'],
      ['float', 'Float64'],
      ['large', 'UInt256'],
      ['words', 'Array(String)'],
      ['means', 'Map(String, Float64)'],
    ],
    [['é', null, -1n, 7, 0.5, (1n << 128n) + 2n, ['a', ''], new Map([['m', 1]])]],
  );
  const float = (value: number): string => {
    const eight = Buffer.alloc(8);
    eight.writeDoubleLE(value);
    return eight.toString('hex');
  };
  expect(bytes.toString('hex')).toBe(
    [
      '02c3a9',
      '01',
      `00${'ff'.repeat(8)}`,
      '07',
      float(0.5),
      `02${'00'.repeat(15)}01${'00'.repeat(15)}`,
      '02016100',
      `01016d${float(1)}`,
    ].join(''),
  );
});

it('lengths of 127, 128 and 100,000 bytes, and rows beyond the first buffer', () => {
  for (const length of [0, 127, 128, 100_000]) {
    const text = 'x'.repeat(length);
    const bytes = encodeRows([['text', 'String']], [[text], ['y']]);
    expect(bytes.subarray(-2).toString('hex')).toBe('0179');
    expect(bytes.length).toBe((length < 128 ? 1 : length < 16_384 ? 2 : 3) + length + 2);
    expect(bytes.subarray(-2 - length, -2).toString()).toBe(text);
  }
});
