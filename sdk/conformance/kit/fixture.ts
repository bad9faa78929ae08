import { type ChildProcess, spawn } from 'node:child_process';
import { Skipped, until } from './judging.ts';

/** What a fixture says of an error of its library. @see sdk/conformance/README.md, "Errors" */
export type FixtureError = {
  readonly type: string;
  readonly message: string;
  readonly status?: number;
  readonly code?: string;
  readonly field?: string;
  readonly request_id?: string;
  readonly retry_after_ms?: number;
  readonly run?: { readonly [member: string]: unknown };
};
export type Answer =
  | { readonly ok: unknown; readonly error?: undefined /** The line as it came. */; readonly raw: string }
  | { readonly error: FixtureError };
export type FixtureEvent = {
  readonly event: string;
  /** When it came: monotonic, in milliseconds. */
  readonly at: number;
  readonly [member: string]: unknown;
};
export type Hello = {
  readonly language: string;
  readonly library: string;
  readonly version: string;
  readonly capabilities: readonly string[];
};

/** A verb failed that should not have. */
export class VerbFailed extends Error {
  readonly error: FixtureError;
  constructor(verb: string, error: FixtureError) {
    super(`${verb} answered ${JSON.stringify(error)}`);
    this.error = error;
  }
}

export type Fixture = {
  readonly pid: number;
  readonly hello: Hello;
  /** Sends a request. @returns its number, for `cancel_call`, and its answer */
  readonly send: (verb: string, input?: object) => { readonly id: number; readonly answer: Promise<Answer> };
  /** Sends a request, and waits for its `ok`. @throws VerbFailed where it answers with an error */
  readonly ask: <T = unknown>(verb: string, input?: object) => Promise<T>;
  /** Sends a request, and waits for its error. @throws Error where it answers with `ok` */
  readonly refused: (verb: string, input?: object) => Promise<FixtureError>;
  readonly events: readonly FixtureEvent[];
  /** Waits for an event of that name, which may have come already. */
  readonly event: (name: string, matches?: (event: FixtureEvent) => boolean) => Promise<FixtureEvent>;
  readonly stderr: () => string;
  /** What it wrote on standard output that is no line of the protocol. */
  readonly strayLines: readonly string[];
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Ends standard input. */
  readonly hangUp: () => void;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
};

/** From the start to the answer to `hello`. */
const STARTS_WITHIN_MS = 60_000;

/** The environment of a fixture: that of the kit, without settings of the service. */
const environmentWith = (own: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^SVCD?_/.test(name))),
  ...own,
});

/** JSON in one line, for every reader's idea of a line. */
const lineOf = (value: object): string =>
  JSON.stringify(value).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029').replaceAll('\u0085', '\\u0085');

const alive = new Set<ChildProcess>();
const signalGroup = (child: ChildProcess, signal: NodeJS.Signals): void => {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It ended in between.
  }
};
process.once('exit', () => {
  for (const child of alive) signalGroup(child, 'SIGKILL');
});

/**
 * Starts a fixture, in a process group of its own, and lets it introduce itself.
 * @throws Error when it does not start, or speaks another protocol
 */
export const startFixture = async (
  command: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
): Promise<Fixture> => {
  const [program, ...args] = command;
  const child = spawn(program, args, { env: environmentWith(env), stdio: 'pipe', detached: true });
  alive.add(child);
  let nextId = 0;
  let stderr = '';
  let failure: Error | undefined;
  const pending = new Map<number, (answer: Answer) => void>();
  const events: FixtureEvent[] = [];
  const strayLines: string[] = [];

  const take = (line: string): void => {
    let message: { id?: number; event?: string; ok?: unknown; error?: FixtureError };
    try {
      message = JSON.parse(line) as typeof message;
    } catch {
      strayLines.push(line);
      return;
    }
    if (typeof message.event === 'string') events.push({ ...message, event: message.event, at: performance.now() });
    else if (typeof message.id === 'number') {
      pending.get(message.id)?.(message.error === undefined ? { ok: message.ok, raw: line } : { error: message.error });
      pending.delete(message.id);
    } else strayLines.push(line);
  };
  // Not by readline, which also ends a line at U+2028.
  let unfinished = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (unfinished + text).split('\n');
    unfinished = lines.pop() ?? '';
    for (const line of lines) take(line);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // A fixture that has ended takes no more requests; its end says why.
  child.stdin.on('error', () => {});
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('error', (error) => {
      failure = error;
      resolve({ code: null, signal: null });
    });
    child.once('close', (code, signal) => {
      alive.delete(child);
      resolve({ code, signal });
    });
  });
  const settlePending = async (): Promise<void> => {
    const { code, signal } = await exited;
    const message = failure?.message ?? `the fixture ended with ${signal ?? `status ${code}`}`;
    for (const settle of pending.values()) settle({ error: { type: 'Ended', message } });
    pending.clear();
  };
  void settlePending();

  const send: Fixture['send'] = (verb, input = {}) => {
    nextId += 1;
    const id = nextId;
    const answer = new Promise<Answer>((resolve) => {
      if (failure !== undefined || child.exitCode !== null || child.signalCode !== null)
        resolve({ error: { type: 'Ended', message: failure?.message ?? 'the fixture has ended' } });
      else pending.set(id, resolve);
    });
    child.stdin.write(`${lineOf({ id, do: verb, with: input })}\n`);
    return { id, answer };
  };
  const ask: Fixture['ask'] = async <T>(verb: string, input?: object): Promise<T> => {
    const answer = await send(verb, input).answer;
    if (answer.error === undefined) return answer.ok as T;
    if (answer.error.type === 'Unrepresentable') throw new Skipped(`the language cannot express ${verb}`);
    throw new VerbFailed(verb, answer.error);
  };

  const hello = await until(`${program} to answer hello`, STARTS_WITHIN_MS, () =>
    ask<Hello>('hello', { protocol: 1 }),
  ).catch((error: unknown): never => {
    signalGroup(child, 'SIGKILL');
    throw new Error(`${command.join(' ')}: ${(error as Error).message}\n${stderr}`, { cause: error });
  });

  return {
    pid: child.pid ?? 0,
    hello,
    send,
    ask,
    refused: async (verb, input) => {
      const answer = await send(verb, input).answer;
      if (answer.error === undefined) throw new Error(`${verb} answered ${JSON.stringify(answer.ok)}, not an error`);
      if (answer.error.type === 'Unrepresentable') throw new Skipped(`the language cannot express ${verb}`);
      return answer.error;
    },
    events,
    event: (name, matches = () => true) =>
      until(`an event ${name}`, undefined, () => events.find((event) => event.event === name && matches(event))),
    stderr: () => stderr,
    strayLines,
    kill: (signal) => signalGroup(child, signal),
    hangUp: () => child.stdin.end(),
    exited,
  };
};
