/** The process: what no test can run twice. Everything else is in `cli/`. */
import { runProgram } from './cli/program.ts';

// The data files hold prompts and answers; nobody but the owner reads what this process creates.
process.umask(0o077);

const code = await runProgram(process.argv.slice(2), {
  environment: process.env,
  out: (text) => void process.stdout.write(text),
  err: (line) => void process.stderr.write(`${line}\n`),
  serve: async (settings) => (await import('./cli/serve.ts')).serve(settings),
});
// Worker threads of a start that failed half way must not keep the process alive.
if (code !== undefined) process.exit(code);
