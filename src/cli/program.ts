import { Command, CommanderError, Option } from 'commander';
import { type AskingIo, createAsking } from './asking.ts';
import { declareAskingCommands } from './asking-commands.ts';
import { declareDefinitions, declareEvents, declareRuns } from './run-commands/commands.ts';
import { declareSchedules } from './run-commands/schedule-commands.ts';
import { describeSettings } from './config.ts';
import { declareConformance } from './conformance.ts';
import { EXIT_USAGE } from './exit-status.ts';
import { camelName, environmentName, flagNames, flags } from './flags.ts';
import { declareMigrate } from './migrate.ts';
import { type GivenFlags, readSettings, type Settings } from './settings.ts';
import { version } from './version.ts';

/** A century: the most that `--window-days` takes. */
const MAX_WINDOW_DAYS = 36_525;
const MAX_CHECK_SECONDS = 86_400;

type DoctorFlags = {
  readonly offline?: true;
  readonly readOnly?: true;
  readonly windowDays: string;
  readonly checkSeconds: string;
  readonly json?: true;
};

export type ProgramIo = AskingIo & {
  /** Runs the daemon until it ends. @returns the exit status, or `undefined` once it serves */
  readonly serve: (settings: Settings) => Promise<number | undefined>;
};

/** Declares the flags of the service on a command that reads them. */
const declareServiceFlags = (command: Command, isShown: boolean): Command => {
  for (const name of flagNames) {
    const { argument, meaning } = flags[name];
    command.addOption(
      new Option(`--${name} ${argument}`, `${meaning} [${environmentName(name)}]`)
        .argParser((text: string, before: readonly string[] | undefined) => [...(before ?? []), text])
        .hideHelp(!isShown),
    );
  }
  return command;
};

/** `svc runs start`: the words by which a command is called. */
const wordsOf = (command: Command): string =>
  command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`;

const buildProgram = (io: ProgramIo, finish: (code: number | undefined) => void): Command => {
  const program = new Command('svc')
    .description('A self-hosted home for AI agents: traces, logs, metrics, scores, feedback and durable workflows.')
    .version(version)
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: () => {} })
    // What follows a command belongs to it: each has, and shows, its own flags alone.
    .enablePositionalOptions()
    .addHelpText(
      'after',
      `
Without a command svc runs the service, and takes the flags that svc serve --help lists.
The flags of any other command: svc <command> --help.

Examples:
  svc --port 8080                  run the service
  svc doctor                       check its deployment
  svc runs --status waiting        durable runs that wait
  svc runs <id>                    where one stands, and what happens next`,
    );
  declareServiceFlags(program, false);
  /** The commands that read the flags of the service. */
  const readers = new Set<Command>();
  const readsService = (command: Command): Command => {
    readers.add(command);
    return declareServiceFlags(command, true);
  };

  /** The flags of the service that stood before a command and behind it. */
  const givenFlags = (command: Command): GivenFlags => {
    const before = program.opts<Record<string, readonly string[] | undefined>>();
    const behind = command.opts<Record<string, readonly string[] | undefined>>();
    return Object.fromEntries(
      flagNames.flatMap((name) => {
        const texts = [before, behind].flatMap((options) => options[camelName(name)] ?? []);
        return texts.length === 0 ? [] : [[name, texts]];
      }),
    );
  };
  program.hook('preAction', (_program, command) => {
    if (readers.has(command)) return;
    const before = program.opts<Record<string, unknown>>();
    // `--project` also stands before commands that ask the service; they read it from there.
    const stray = flagNames.find((name) => name !== 'project' && before[camelName(name)] !== undefined);
    if (stray !== undefined)
      program.error(`error: --${stray}: a flag of the service; ${wordsOf(command)} does not read it`);
  });

  /** What the command line gave, read with environment and config file; or the refusal printed. */
  const withSettings = async (
    command: Command,
    use: (settings: Settings) => number | undefined | Promise<number | undefined>,
  ): Promise<void> => {
    const settings = readSettings({ given: givenFlags(command), environment: io.environment });
    if (settings.ok) return finish(await use(settings.value));
    io.err(`svc: ${settings.problem}`);
    finish(EXIT_USAGE);
  };

  readsService(program.command('serve', { isDefault: true }))
    .description('Run the service (what svc does without a subcommand).')
    .usage('[options]')
    // As the default it is also handed a word that is no command.
    .argument('[word]')
    .action((word: string | undefined, _options: unknown, command: Command) => {
      if (word === undefined) return withSettings(command, io.serve);
      const names = program.commands.map((command) => command.name()).join(', ');
      return program.error(`error: unknown command ${JSON.stringify(word.slice(0, 64))}; svc has ${names}`);
    });
  readsService(program.command('config'))
    .description('Print the effective configuration as JSON, without secrets.')
    .action((_options: unknown, command: Command) =>
      withSettings(command, (settings) => {
        io.out(`${JSON.stringify(describeSettings(settings), null, 2)}\n`);
        for (const warning of settings.warnings) io.err(`svc: warning: ${warning}`);
        return 0;
      }),
    );
  readsService(program.command('doctor'))
    .description('Check the deployment that these flags make: exit status 2 on a fault, 0 otherwise.')
    .option('--offline', 'Contact nothing but storage.')
    .option('--read-only', 'Write nothing; storage is then proved to be readable, no more.')
    .option('--window-days <n>', 'Days of history to read, from 1 to 36525.', '7')
    .option('--check-seconds <n>', 'How long each file is read for damage at most, from 0 to 86400.', '30')
    .option('--json', 'Print the report as JSON.')
    .addHelpText(
      'after',
      `
Examples:
  svc doctor --config-file svc.json    with the flags that the service is started with
  svc doctor --offline --read-only     touch nothing`,
    )
    .action(async (options: DoctorFlags, command: Command) => {
      const windowDays = /^\d{1,5}$/.test(options.windowDays) ? Number(options.windowDays) : 0;
      if (windowDays < 1 || windowDays > MAX_WINDOW_DAYS) {
        io.err(
          `svc: --window-days: must be an integer from 1 to ${MAX_WINDOW_DAYS}, is ${JSON.stringify(options.windowDays.slice(0, 64))}`,
        );
        return finish(EXIT_USAGE);
      }
      const checkSeconds = /^\d{1,5}$/.test(options.checkSeconds) ? Number(options.checkSeconds) : Number.NaN;
      if (!(checkSeconds <= MAX_CHECK_SECONDS)) {
        io.err(
          `svc: --check-seconds: must be an integer from 0 to ${MAX_CHECK_SECONDS}, is ${JSON.stringify(options.checkSeconds.slice(0, 64))}`,
        );
        return finish(EXIT_USAGE);
      }
      // Loaded when asked for: it brings the storage engine with it.
      const { doctor } = await import('./doctor.ts');
      const { environment, out, err } = io;
      finish(
        await doctor({
          ...{ given: givenFlags(command), environment, out, err, windowDays, checkSeconds },
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
  const asking = createAsking(program, io);
  declareRuns(program, asking, finish);
  declareDefinitions(program, asking, finish);
  declareEvents(program, asking, finish);
  declareSchedules(program, asking, finish);
  declareAskingCommands(program, asking, finish);
  declareConformance(program, io, finish);
  declareMigrate(program, io, finish);
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
