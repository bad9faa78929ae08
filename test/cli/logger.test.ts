import { expect, it } from 'vitest';
import { createLogger, describeError } from '../../src/cli/logger.ts';

it('logs one JSON object a line, with level, time and message', () => {
  const lines: string[] = [];
  createLogger('info', { write: (line) => lines.push(line) }).info({ port: 1 }, 'listening');
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    port: 1,
    msg: 'listening',
  });
});

it('leaves out the message of a parser, which quotes what was parsed', () => {
  const lines: string[] = [];
  const log = createLogger('info', { write: (line) => lines.push(line) });
  try {
    JSON.parse('canary-payload');
  } catch (error) {
    log.error({ err: error }, 'broken');
    log.error({ err: new Error('could not read', { cause: error }) }, 'broken');
  }
  expect(lines).toHaveLength(2);
  expect(lines.join('')).not.toContain('canary');
  expect(lines.join('')).toContain('SyntaxError');
  expect(lines[1]).toContain('could not read');
});

it('keeps type, code and frames of an error, and ends a chain of causes', () => {
  const error: Error & { code?: string } = new Error('no room');
  error.code = 'ENOSPC';
  error.cause = error;
  const text = JSON.stringify(describeError(error));
  expect(text).toContain('"code":"ENOSPC"');
  expect(text).toContain('logger.test.ts');
  expect(text.match(/no room/g)?.length).toBe(6);
});
