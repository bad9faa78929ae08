import { Command, CommanderError } from 'commander';
import { describeSettings } from './config.ts';
import { EXIT_USAGE } from './exit-status.ts';
import { camelName, environmentName, flagNames, flags } from './flags.ts';
import { type GivenFlags, readSettings, type Settings } from './settings.ts';
import { version } from './version.ts';

/** A century: the most that `--window-days` takes. */
const MAX_WINDOW_DAYS = 36_525;

export type ProgramIo = {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (line: string) => void;
  /** Runs the daemon until it ends. @returns the exit status, or `undefined` once it serves */
  readonly serve: (settings: Settings) => Promise<number | undefined>;
};

const buildProgram = (io: ProgramIo, finish: (code: number | undefined) => void): Command => {
  const program = new Command('svc')
    .description('A self-hosted home for AI agents: traces, logs, metrics, scores, feedback and durable workflows.')
    .version(version)
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: () => {} });
  for (const name of flagNames) {
    const { argument, meaning } = flags[name];
    program.option(
      `--${name} ${argument}`,
      `${meaning} [${environmentName(name)}]`,
      (text: string, before: readonly string[] | undefined) => [...(before ?? []), text],
    );
  }

  /** The flags of the service that the command line gave. */
  const givenFlags = (): GivenFlags => {
    const options = program.opts<Record<string, readonly string[]>>();
    return Object.fromEntries(
      flagNames.flatMap((name) => {
        const texts = options[camelName(name)];
        return texts === undefined ? [] : [[name, texts]];
      }),
    );
  };

  /** What the command line gave, read with environment and config file; or the refusal printed. */
  const withSettings = async (
    use: (settings: Settings) => number | undefined | Promise<number | undefined>,
  ): Promise<void> => {
    const settings = readSettings({ given: givenFlags(), environment: io.environment });
    if (settings.ok) return finish(await use(settings.value));
    io.err(`svc: ${settings.problem}`);
    finish(EXIT_USAGE);
  };

  program
    .command('serve', { isDefault: true })
    .description('Run the service (what svc does without a subcommand).')
    .usage('[options]')
    // As the default it is also handed a word that is no command.
    .argument('[word]')
    .action((word: string | undefined) => {
      if (word === undefined) return withSettings(io.serve);
      const names = program.commands.map((command) => command.name()).join(', ');
      return program.error(`error: unknown command ${JSON.stringify(word.slice(0, 64))}; svc has ${names}`);
    });
  program
    .command('config')
    .description('Print the effective configuration as JSON, without secrets.')
    .action(() =>
      withSettings((settings) => {
        io.out(`${JSON.stringify(describeSettings(settings), null, 2)}\n`);
        for (const warning of settings.warnings) io.err(`svc: warning: ${warning}`);
        return 0;
      }),
    );
  program
    .command('doctor')
    .description('Check the deployment that these flags make: exit status 2 on a fault, 0 otherwise.')
    .option('--offline', 'Contact nothing but storage.')
    .option('--read-only', 'Write nothing; storage is then proved to be readable, no more.')
    .option('--window-days <n>', 'Days of history to read, from 1 to 36525.', '7')
    .option('--json', 'Print the report as JSON.')
    .action(async (options: { offline?: true; readOnly?: true; windowDays: string; json?: true }) => {
      const windowDays = /^\d{1,5}$/.test(options.windowDays) ? Number(options.windowDays) : 0;
      if (windowDays < 1 || windowDays > MAX_WINDOW_DAYS) {
        io.err(
          `svc: --window-days: must be an integer from 1 to ${MAX_WINDOW_DAYS}, is ${JSON.stringify(options.windowDays.slice(0, 64))}`,
        );
        return finish(EXIT_USAGE);
      }
      // Loaded when asked for: it brings the storage engine with it.
      const { doctor } = await import('./doctor.ts');
      const { environment, out, err } = io;
      finish(
        await doctor({
          ...{ given: givenFlags(), environment, out, err, windowDays },
          offline: options.offline === true,
          readOnly: options.readOnly === true,
          json: options.json === true,
        }),
      );
    });
  program
    .command('prices')
    .description('Print the prices that model calls are priced with, each provider with its source.')
    .argument('[filter]', 'A part of a model id, or of the name of a provider.')
    .option('--json', 'Print the book as JSON.')
    .option('--diff <file>', 'Print what changed since the book in this file, printed by --json of another release.')
    .action(async (filter: string | undefined, options: { json?: true; diff?: string }) => {
      const { showPrices } = await import('./prices.ts');
      finish(showPrices({ ...options, ...(filter === undefined ? {} : { filter }), out: io.out, err: io.err }));
    });
  program
    .command('mcp')
    .description('Answer the tools of an AI assistant over standard input and output (Model Context Protocol).')
    .option('--endpoint <url>', 'The service to ask. [SVC_ENDPOINT] (default: http://127.0.0.1:4317)')
    .option('--api-key <key>', 'A read key of it. [SVC_API_KEY]')
    .addHelpText(
      'after',
      '\n--project, or SVC_PROJECT, limits the tools to one project. Flags of the service are not read.',
    )
    .action(async (options: { endpoint?: string; apiKey?: string }) => {
      const { mcp } = await import('./mcp.ts');
      const project = givenFlags().project?.at(-1);
      const { environment, err } = io;
      finish(await mcp({ ...options, ...(project === undefined ? {} : { project }), environment, err }));
    });

  type AskOptions = { readonly endpoint?: string; readonly apiKey?: string };
  const { environment, out, err } = io;
  const asking = (command: Command): Command =>
    command
      .option('--endpoint <url>', 'The service to ask. [SVC_ENDPOINT] (default: http://127.0.0.1:4317)')
      .option('--api-key <key>', 'A read key of it. [SVC_API_KEY]');
  asking(program.command('machines'))
    .description('Print the state machines of a running service: all by name, or one completely.')
    .argument('[name]', '`lease`, `run:<definition>@<version>`, ...')
    .option('--format <format>', 'How one is printed: json, which opens in xstate, or mermaid.', 'json')
    .action(async (name: string | undefined, options: AskOptions & { format: string }) => {
      const { showMachines } = await import('./inspect.ts');
      finish(await showMachines({ ...options, environment, out, err }, name));
    });
  asking(program.command('actors'))
    .description('Print the actors of a running service: where each is, or one completely.')
    .argument('[type]', '`run`, `lease`, ...')
    .argument('[id]', 'The actor to print completely.')
    .option('--at-seq <n>', 'For a run, a monitor or an SLO: as it was after this entry of its journal.')
    .addHelpText('after', '\n--project names the project to list; `*` is every one.')
    .action(
      async (
        type: string | undefined,
        id: string | undefined,
        { atSeq, ...options }: AskOptions & { atSeq?: string },
      ) => {
        const { showActors } = await import('./inspect.ts');
        const project = givenFlags().project?.at(-1);
        finish(
          await showActors(
            { ...options, environment, out, err },
            {
              ...(type === undefined ? {} : { type }),
              ...(id === undefined ? {} : { id }),
              ...(atSeq === undefined ? {} : { atSeq }),
              ...(project === undefined ? {} : { project }),
            },
          ),
        );
      },
    );
  return program;
};

/**
 * Reads the command line and runs the command it names.
 * @param argv what follows the program's name
 * @returns the exit status, or `undefined` when the daemon now serves
 */
export const runProgram = async (argv: readonly string[], io: ProgramIo): Promise<number | undefined> => {
  let code: number | undefined;
  const program = buildProgram(io, (finished) => {
    code = finished;
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0; // help and version
    // One line: commander puts its suggestion on a second one.
    io.err(`svc: ${error.message.replace(/^error: /, '').replaceAll('\n', ' ')}`);
    return EXIT_USAGE;
  }
  return code;
};
