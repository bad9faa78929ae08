import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterEach, expect, it, vi } from 'vitest';
import { compileDocument, compileReads } from '../../../src/http/contract/contract.ts';

afterEach(() => vi.restoreAllMocks());

it('the first question of a process compiles nothing: the parameters of all reads were compiled before, one validator a turn of the loop', async () => {
  const compile = vi.spyOn(Ajv2020.prototype, 'compile');
  const operations = compileDocument();
  const perTurn: number[] = [];
  let isOver = false;
  let before = 0;
  const turn = (): void => {
    perTurn.push(compile.mock.calls.length - before);
    before = compile.mock.calls.length;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await compileReads(operations.values());
  isOver = true;
  expect(Math.max(...perTurn)).toBe(1);
  const compiled = compile.mock.calls.length;
  expect(compiled).toBeGreaterThan(50);
  const getTrace = operations.get('getTrace');
  expect(getTrace?.readPath({ trace_id: '0af7651916cd43dd8448eb211c80319c' })).toEqual({
    trace_id: '0af7651916cd43dd8448eb211c80319c',
  });
  expect(getTrace?.readQuery({ payloads: 'none' })).toMatchObject({ payloads: 'none' });
  expect(compile).toHaveBeenCalledTimes(compiled);
});
