import type { components } from '../api/types.ts';

export type LogRecord = components['schemas']['LogRecord'];
export type Severity = components['schemas']['Severity'];

/** From the least to the most severe. */
export const severities = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const satisfies readonly Severity[];

/** The state as which a severity is shown. */
export const colorOfSeverity = (severity: Severity): string =>
  severity === 'fatal' || severity === 'error' ? 'error' : severity === 'warn' ? 'backoff' : 'ink-2';

/** Records that have each of the words in message, logger or the values of their attributes, in any case. */
export const matchLogs = (records: readonly LogRecord[], words: string): readonly LogRecord[] => {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return records;
  return records.filter(({ message, logger, attributes }) => {
    const said = [message, logger ?? '', JSON.stringify(Object.values(attributes))].join('\n').toLowerCase();
    return wanted.every((word) => said.includes(word));
  });
};
