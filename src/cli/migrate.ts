import type { Command } from 'commander';

/** Declares `svc migrate`. */
export const declareMigrate = (
  program: Command,
  io: { readonly out: (text: string) => void; readonly err: (line: string) => void },
  finish: (code: number) => void,
): void => {
  program
    .command('migrate')
    .description(
      'Move all signals, or all durable runs, from one store to another, of any engine, while no service runs on either.',
    )
    .requiredOption(
      '--from <store>',
      'A file, or the URL of a PostgreSQL or ClickHouse database. `@path` names a file that holds it.',
    )
    .requiredOption('--to <store>', 'The same. A file that is not there is made; a database must be there.')
    .option('--runs', 'Move durable runs, between a file (--runs-data) and PostgreSQL (--runs-url), and no signals.')
    .option('--add', 'Add to a target that is not empty. What both hold becomes what the source has.')
    .addHelpText(
      'after',
      `
It may be ended at any moment: the same command goes on where it was, and a move that is complete changes nothing.
With --runs the target must be empty. The runs go on there; those of the source are left as they were, and no service starts on them.

Examples:
  svc migrate --from svc.db --to postgres://svc@127.0.0.1/svc                leave the file
  svc migrate --from svc.db --to clickhouse+http://svc@127.0.0.1:8123/svc    the same, to ClickHouse
  svc migrate --from @database.url --to svc.db                               go back to it
  svc migrate --runs --from svc-runs.db --to postgres://svc@127.0.0.1/svc    the durable runs`,
    )
    // Loaded when asked for: it brings the storage engines with it.
    .action(async (options: { from: string; to: string; runs?: true; add?: true }) => {
      const { migrate } = await import('./migrate/run.ts');
      finish(await migrate(options, { ...io, isTerminal: process.stdout.isTTY }));
    });
};
