import { type DestinationStream, type Logger, pino } from 'pino';
import type { Settings } from './settings.ts';

const MAX_CAUSES = 5;

/**
 * An error as the log may hold it: its type, code, message and frames. The message of a parser is left out, because it
 * quotes what was parsed.
 */
export const describeError = (error: unknown, depth = 0): object => {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code } = error as NodeJS.ErrnoException;
  return {
    type: error.name,
    ...(code === undefined ? {} : { code }),
    ...(error instanceof SyntaxError ? {} : { message: error.message }),
    frames: (error.stack ?? '')
      .split('\n')
      .filter((line) => line.startsWith('    at '))
      .map((line) => line.trim()),
    ...(error.cause === undefined || depth >= MAX_CAUSES ? {} : { cause: describeError(error.cause, depth + 1) }),
  };
};

/**
 * The only log: one JSON object a line on standard output, written before the call returns, so that the last line of a
 * crash is there. It never holds a payload or a key: errors pass through `describeError`, and requests are counted, not logged.
 */
export const createLogger = (
  level: Settings['logLevel'],
  destination: DestinationStream = pino.destination({ fd: 1, sync: true }),
): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
    },
    destination,
  );
