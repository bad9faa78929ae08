import { format } from 'node:util';
import type { Severity } from './generated/wire.ts';
import type { Instrumentation } from './recorder.ts';

const METHODS = { debug: 'debug', log: 'info', info: 'info', warn: 'warn', error: 'error' } as const satisfies Record<
  string,
  Severity
>;

/**
 * Records what goes to the console, too: it is printed as before. Nothing does this unasked, and the function that is returned ends it.
 * @returns puts the methods of the console back; they stay where somebody else has replaced them meanwhile
 */
export const bridgeConsole = (
  instrumentation: Pick<Instrumentation, 'log'>,
  { logger = 'console' }: { readonly logger?: string } = {},
): (() => void) => {
  const undo = Object.entries(METHODS).map(([name, severity]) => {
    const method = name as keyof typeof METHODS;
    const before = console[method];
    const both = (...words: unknown[]): void => {
      before.apply(console, words);
      instrumentation.log(severity, wordsOf(words), { logger });
    };
    console[method] = both;
    return () => {
      if (console[method] === both) console[method] = before;
    };
  });
  return () => {
    for (const each of undo) each();
  };
};

/** As the console prints it. What cannot be printed, because its own code throws, is no reason to throw here. */
const wordsOf = (words: readonly unknown[]): string => {
  try {
    return format(...words);
  } catch {
    return 'a message that cannot be written as text';
  }
};

/** The levels of pino and bunyan; winston and the rest write names. */
const severityOf = (level: unknown): Severity => {
  if (typeof level === 'number') {
    if (level >= 60) return 'fatal';
    if (level >= 50) return 'error';
    if (level >= 40) return 'warn';
    if (level >= 30) return 'info';
    return level >= 20 ? 'debug' : 'trace';
  }
  const name = typeof level === 'string' ? level.toLowerCase() : '';
  if (name === 'warning') return 'warn';
  if (name === 'critical' || name === 'crit' || name === 'alert' || name === 'emerg') return 'fatal';
  if (name === 'verbose' || name === 'silly') return 'debug';
  return SEVERITIES.find((severity) => severity === name) ?? 'info';
};
const SEVERITIES: readonly Severity[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];

export type LogStream = {
  /** Takes lines of text; each is one record. Never throws. */
  readonly write: (lines: string) => boolean;
};

/**
 * A destination for a logger that writes a JSON object a line, as pino, bunyan and winston do: `pino(createLogStream(svc))`. A line that
 * is no JSON is a message. Records belong to the span around the call that logs.
 */
export const createLogStream = (instrumentation: Pick<Instrumentation, 'log'>): LogStream => ({
  write: (lines) => {
    for (const line of lines.split('\n')) if (line.trim() !== '') record(instrumentation, line);
    return true;
  },
});

const record = ({ log }: Pick<Instrumentation, 'log'>, line: string): void => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    // A logger that writes text.
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    log('info', line);
    return;
  }
  // The time is that of the record, which is written at once; host and process stand in no attribute of ours.
  const {
    level,
    severity = level,
    msg,
    message = msg,
    name,
    logger = name,
    time: _time,
    timestamp: _timestamp,
    pid: _pid,
    hostname: _hostname,
    v: _version,
    ...attributes
  } = parsed as Record<string, unknown>;
  log(severityOf(severity), typeof message === 'string' ? message : line, {
    ...(typeof logger === 'string' ? { logger } : {}),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
  });
};
