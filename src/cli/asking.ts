import { type Command, InvalidArgumentError, Option } from 'commander';
import { createMoments, type Moments } from './moments.ts';
import type { AskIo, ShowIo } from './with-daemon.ts';

/** What a command line has beside its words. */
export type AskingIo = {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (line: string) => void;
  /** Standard input, for commands that read it; that of the process by default. */
  readonly input?: AsyncIterable<Uint8Array | string>;
  /** Milliseconds since 1970, and the time zone in which times are shown; those of the process by default. */
  readonly now?: () => number;
  readonly timeZone?: string;
};

export type Connection = { readonly endpoint?: string; readonly apiKey?: string };
export type Page = { readonly project?: string; readonly limit?: number; readonly cursor?: string };
export type Printed = { readonly json?: true };

const limit = (text: string): number => {
  const number = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > 1000) throw new InvalidArgumentError('It must be an integer from 1 to 1000.');
  return number;
};
export const sequence = (text: string): number => {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be an integer from 0.');
  return Number(text);
};
/** `name=value`, once or more. */
export const pairs = (
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be name=value, such as user_id=customer-7.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
};

export const examples = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;

/** An empty variable is one that a launcher did not fill. */
const given = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

/** The flags that commands share which ask a running service, and how they are read. */
export const createAsking = (program: Command, io: AskingIo) => {
  const { environment, out, err } = io;
  const moments = (): Moments => createMoments((io.now ?? Date.now)(), io.timeZone);

  const asking = (command: Command, scope = 'read'): Command =>
    command
      .option('--endpoint <url>', 'The service to ask. [SVC_ENDPOINT] (default: http://127.0.0.1:4317)')
      .option('--api-key <key>', `A key of it with the scope ${scope}. [SVC_API_KEY]`);
  const inProject = (command: Command, meaning: string): Command =>
    command.option('--project <name>', `${meaning} [SVC_PROJECT]`);
  const paged = (command: Command): Command =>
    command
      .addOption(new Option('--limit <n>', 'Most rows to show, up to 1000. (default: 50)').argParser(limit))
      .option('--cursor <cursor>', 'Go on behind the page that named this cursor.');
  const asJson = (command: Command, meaning = "Print the API's answer as JSON."): Command =>
    command.option('--json', meaning);

  /** What a command shares with the one before it in its own words: `svc runs --json start` is `svc runs start --json`. */
  const sharedOf = (command: Command): Connection & Printed & Page => {
    const own = command.opts<Connection & Printed & Page>();
    const { parent } = command;
    return parent === null || parent === program ? own : { ...parent.opts<Connection & Printed & Page>(), ...own };
  };
  const projectOf = ({ project }: { readonly project?: string }): { readonly project?: string } => {
    const before = program.opts<{ readonly project?: readonly string[] }>().project?.at(-1);
    const chosen = project ?? before ?? given(environment['SVC_PROJECT']);
    return chosen === undefined ? {} : { project: chosen };
  };
  const ask = ({ endpoint, apiKey }: Connection): AskIo => ({
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(apiKey === undefined ? {} : { apiKey }),
    environment,
    out,
    err,
  });
  /** What a command shows, and to whom. */
  const showing = (options: Connection & Printed): ShowIo => ({
    ...ask(options),
    json: options.json === true,
    moments,
  });
  const steering = (options: Connection & Printed) => ({ ...showing(options), input: io.input ?? process.stdin });
  const pageOf = (options: Page): Page => ({
    ...projectOf(options),
    ...(options.limit === undefined ? {} : { limit: options.limit }),
    ...(options.cursor === undefined ? {} : { cursor: options.cursor }),
  });
  return { asking, inProject, paged, asJson, sharedOf, projectOf, ask, showing, steering, pageOf };
};

export type Asking = ReturnType<typeof createAsking>;
/** Called with the exit status when a command is done. */
export type Finish = (code: number | undefined) => void;
