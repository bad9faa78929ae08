import { runProgram } from '../../src/cli/program.ts';

/** A terminal that runs one `svc` after the other against one service. */
export const aTerminal =
  (environment: Record<string, string>, now: () => number = Date.now) =>
  async (argv: readonly string[], input = '') => {
    const out: string[] = [];
    const err: string[] = [];
    const code = await runProgram(argv, {
      environment,
      out: (text) => void out.push(text),
      err: (line) => void err.push(line),
      input: (async function* () {
        yield input;
      })(),
      now,
      timeZone: 'UTC',
      serve: () => Promise.reject(new Error('this does not serve')),
    });
    return { code, out: out.join(''), err };
  };
