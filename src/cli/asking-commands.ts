import { type Command, Option } from 'commander';
import { type Asking, type Connection, examples, type Finish, type Page, type Printed, sequence } from './asking.ts';

/** Declares `mcp`, `machines`, `actors` and `health`: commands that hold no data and ask a running service. */
export const declareAskingCommands = (
  program: Command,
  { asking, inProject, asJson, ask, showing, projectOf }: Asking,
  finish: Finish,
): void => {
  const mcp = program
    .command('mcp')
    .description('Answer the tools of an AI assistant over standard input and output (Model Context Protocol).')
    .action(async (options: Connection & Page) => {
      const { mcp } = await import('./mcp.ts');
      finish(await mcp({ ...ask(options), ...projectOf(options) }));
    });
  inProject(asking(mcp), 'Limit every tool to this project.');

  const machines = program
    .command('machines')
    .description('Print the state machines of a running service: all by name, or one completely.')
    .argument('[name]', '`lease`, `run:<definition>@<version>`, ...')
    .option('--format <format>', 'How one is printed: json, which opens in xstate, or mermaid.', 'json')
    .addHelpText('after', examples('svc machines', 'svc machines run:hello@1 --format mermaid'))
    .action(async (name: string | undefined, options: Connection & { format: string; project?: string }) => {
      const { showMachines } = await import('./inspect.ts');
      finish(await showMachines({ ...ask(options), ...projectOf(options), format: options.format }, name));
    });
  inProject(asking(machines), "The project whose definitions are meant, beside the service's.");

  const actors = program
    .command('actors')
    .description('Show the actors of a running service: where each is, or one with all that it remembers.')
    .argument('[type]', '`run`, `lease`, `timer`, ...')
    .argument('[id]', 'The actor to show completely.')
    .addOption(
      new Option(
        '--at-seq <n>',
        'For a run, a monitor or an SLO: as it was after this entry of its journal.',
      ).argParser(sequence),
    )
    .addHelpText(
      'after',
      examples(
        'svc actors run',
        'svc actors dispatcher main',
        'svc actors run <id> --at-seq 3',
        'svc actors lease <id> --json',
      ),
    )
    .action(
      async (
        type: string | undefined,
        id: string | undefined,
        options: Connection & Printed & { project?: string; atSeq?: number },
      ) => {
        const { showActors } = await import('./inspect.ts');
        finish(
          await showActors(showing(options), {
            ...(type === undefined ? {} : { type }),
            ...(id === undefined ? {} : { id }),
            ...(options.atSeq === undefined ? {} : { atSeq: options.atSeq }),
            ...projectOf(options),
          }),
        );
      },
    );
  asJson(inProject(asking(actors), 'The project to list; `*` is every one.'), 'Print JSON.');

  program
    .command('health')
    .description('Ask a running service whether it serves: exit status 0 when it does, 1 otherwise.')
    .option('--endpoint <url>', 'The service to ask. [SVC_ENDPOINT] (default: http://127.0.0.1:4317)')
    .option('--ready', 'Whether its stores answer, too.')
    .addHelpText('after', examples('svc health', 'svc health --ready'))
    .action(async (options: Pick<Connection, 'endpoint'> & { ready?: true }) => {
      const { showHealth } = await import('./health.ts');
      finish(await showHealth({ ...ask(options), ready: options.ready === true }));
    });
};
