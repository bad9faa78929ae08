import { afterEach, describe, expect, it, vi } from 'vitest';
import { bridgeConsole, createLogStream, type Instrumentation } from '../../sdk/typescript/src/index.ts';

type Log = Instrumentation['log'];
const createLog = () => vi.fn<Log>();
const original = { ...console };
afterEach(() => Object.assign(console, original));

describe('the console as a source of logs', () => {
  const print = () => vi.fn<(...words: unknown[]) => void>();
  const silent = () => {
    const printed = { debug: print(), log: print(), info: print(), warn: print(), error: print() };
    Object.assign(console, printed);
    return printed;
  };

  it('records each call with its severity, and prints it as before', () => {
    const printed = silent();
    const log = createLog();
    const undo = bridgeConsole({ log });
    console.debug('d');
    console.log('l %s', 1);
    console.info('i', { a: 1 });
    console.warn('w');
    console.error(new Error('e').message);
    undo();
    expect(log.mock.calls.map(([severity, message, more]) => [severity, message, more?.logger])).toEqual([
      ['debug', 'd', 'console'],
      ['info', 'l 1', 'console'],
      ['info', 'i { a: 1 }', 'console'],
      ['warn', 'w', 'console'],
      ['error', 'e', 'console'],
    ]);
    expect(printed.log).toHaveBeenCalledExactlyOnceWith('l %s', 1);
  });

  it('ends when it is undone, and leaves alone what somebody else put there since', () => {
    const printed = silent();
    const log = createLog();
    const undo = bridgeConsole({ log });
    const other = vi.fn<() => void>();
    console.warn = other;
    undo();
    expect(console.log).toBe(printed.log);
    expect(console.warn).toBe(other);
    console.log('after');
    expect(log).not.toHaveBeenCalled();
  });

  it('does not throw for a value that cannot be printed', () => {
    silent();
    const log = createLog();
    const undo = bridgeConsole({ log });
    const hostile = {
      get [Symbol.toStringTag](): string {
        throw new Error('no');
      },
    };
    expect(() => console.log('%s', hostile)).not.toThrow();
    undo();
    expect(log).toHaveBeenCalledOnce();
  });
});

describe('a logger that writes JSON lines', () => {
  const written = (...lines: string[]) => {
    const log = createLog();
    const stream = createLogStream({ log });
    for (const line of lines) expect(stream.write(line)).toBe(true);
    return log.mock.calls;
  };

  it('takes the records of pino: level, message, name, and the rest as attributes', () => {
    const line = JSON.stringify({
      level: 50,
      time: 1,
      pid: 2,
      hostname: 'h',
      name: 'bank',
      msg: 'no answer',
      amount: 40,
    });
    expect(written(`${line}\n`)).toEqual([['error', 'no answer', { logger: 'bank', attributes: { amount: 40 } }]]);
  });

  it('takes the records of winston: named levels and message', () => {
    expect(written(JSON.stringify({ level: 'warning', message: 'slow', timestamp: 't' }))).toEqual([
      ['warn', 'slow', {}],
    ]);
  });

  it('knows every level, both sides of each bound', () => {
    const severities = [9, 19, 20, 29, 30, 39, 40, 49, 50, 59, 60].map(
      (level) => written(JSON.stringify({ level, msg: 'm' }))[0]?.[0],
    );
    expect(severities).toEqual('trace trace debug debug info info warn warn error error fatal'.split(' '));
    expect(written('{"msg":"m"}', '{"level":"odd","msg":"m"}').map(([severity]) => severity)).toEqual(['info', 'info']);
  });

  it('takes several lines at once, and a line that is no record as a message', () => {
    expect(written('{"level":30,"msg":"a"}\n\nplain text\n[1]\n').map(([, message]) => message)).toEqual([
      ...['a', 'plain text', '[1]'],
    ]);
  });
});
