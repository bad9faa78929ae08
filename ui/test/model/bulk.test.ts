import { describe, expect, it } from 'vitest';
import { bulkFilterOf } from '../../src/model/bulk.ts';
import { readJson, readJsonObject } from '../../src/model/json-field.ts';

describe('the filter of an action on all runs of a list', () => {
  it('has the filters of the list, and none of its other parameters', () => {
    expect(
      bulkFilterOf({
        project: 'shop',
        status: 'waiting',
        waiting_on: 'event',
        restarted_from: 'r1',
        from: '-24h',
        'correlation.environment': 'prod',
        limit: 100,
        cursor: 'c',
      }),
    ).toEqual({
      project: 'shop',
      status: 'waiting',
      waiting_on: 'event',
      restarted_from: 'r1',
      from: '-24h',
      correlation: { environment: 'prod' },
    });
  });

  it('is none for a list that no filter narrows: it would be all', () => {
    expect([bulkFilterOf({}), bulkFilterOf({ project: 'shop', limit: 100 })]).toEqual([undefined, undefined]);
  });
});

describe('a field of JSON', () => {
  it('is its value, or nothing while it is empty', () => {
    expect([readJson(' ', 'input'), readJson('null', 'input'), readJson('[1]', 'input')]).toEqual([
      { value: undefined },
      { value: null },
      { value: [1] },
    ]);
    expect([readJsonObject('', 'input'), readJsonObject('{"a":1}', 'input')]).toEqual([
      { value: undefined },
      { value: { a: 1 } },
    ]);
  });

  it('is named where it is wrong', () => {
    expect(readJson('{', 'input')).toMatchObject({
      fault: expect.stringMatching(/^The input is not JSON: ./) as string,
    });
    for (const text of ['null', '[1]', '3', '"x"'])
      expect(readJsonObject(text, 'payload')).toEqual({ fault: 'The payload must be a JSON object.' });
  });
});
