import { expect, it } from 'vitest';
import { problemOf } from '../../src/api/problem.ts';
import { fieldNames } from '../../src/model/field-path.ts';

const answer = (status: number, type: string): Response =>
  new Response('', { status, headers: { 'content-type': type } });

it('a refusal is shown in the words of the service, with the field that it names', () => {
  const problem = problemOf(answer(400, 'application/json'), { code: 'invalid_id', message: 'no', field: 'trace_ids' });
  expect(problem).toMatchObject({ status: 400, code: 'invalid_id', message: 'no', field: 'trace_ids' });
});

it('so is one of a body that does not decode, which is a line of text; the page of a proxy is not', () => {
  const line = 'the request body does not decode: `name` must not be empty';
  expect(problemOf(answer(422, 'text/plain; charset=utf-8'), line)).toMatchObject({
    code: 'http_422',
    message: line,
    field: 'name',
  });
  expect(problemOf(answer(502, 'text/html'), '<h1>Bad gateway</h1>')).toMatchObject({
    message: 'the service answered 502',
    field: undefined,
  });
});

it('a field is looked for by its own name, then by those it lies in', () => {
  expect(fieldNames('name')).toEqual(['name']);
  expect(fieldNames('config.max_ms')).toEqual(['config.max_ms', 'config']);
  expect(fieldNames('spans[0].usage.input')).toEqual(['spans[0].usage.input', 'spans[0].usage', 'spans']);
});
