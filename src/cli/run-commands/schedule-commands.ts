import { type Command, Option } from 'commander';
import type { components } from '../../model/generated/openapi.ts';
import { type Asking, type Connection, examples, type Finish, type Page, type Printed, sequence } from '../asking.ts';

type Schemas = components['schemas'];
type Create = {
  readonly file?: string;
  readonly definition?: string;
  readonly cron?: string;
  readonly timezone?: string;
  readonly every?: number;
  readonly input?: string;
  readonly overlap?: Schemas['Overlap'];
  readonly catchUp?: Schemas['CatchUp'];
};

/** Declares `svc schedules` and its commands. */
export const declareSchedules = (
  program: Command,
  { asking, inProject, paged, asJson, showing, steering, pageOf, projectOf, sharedOf }: Asking,
  finish: Finish,
): void => {
  const schedules = program
    .command('schedules')
    .description('Schedules: list them, show, create, pause, resume, trigger or delete one.')
    .enablePositionalOptions()
    .argument('[id]', 'The schedule to show: its next times, and what became of the last ones.')
    .addHelpText('after', examples('svc schedules', 'svc schedules nightly-report', 'svc schedules --json'))
    .action(async (id: string | undefined, options: Connection & Page & Printed) => {
      const { listSchedules, showSchedule } = await import('./schedules.ts');
      finish(
        id === undefined
          ? await listSchedules(showing(options), pageOf(options))
          : await showSchedule(showing(options), id, projectOf(options)),
      );
    });
  asking(asJson(paged(inProject(schedules, 'The project; in a list `*` is every one.'))));

  const create = schedules
    .command('create')
    .description('Make a schedule, from flags or from a file with the body of POST /v1/api/schedules.')
    .argument('<id>', 'Its id.')
    .option('--file <json>', 'JSON text, @file, or - for standard input; flags win over it.')
    .option('--definition <id>', 'The definition that it starts.')
    .option('--cron <expression>', 'Five fields, or six with seconds before them.')
    .option('--timezone <zone>', 'In which it is read, such as Europe/Berlin. (default: UTC)')
    .addOption(
      new Option('--every <ms>', 'Instead of --cron: so many milliseconds, at least 1000.').argParser(sequence),
    )
    .option('--input <json>', 'JSON text, @file, or - for standard input. (default: {})')
    .addOption(
      new Option('--overlap <what>', 'While a run of it is open.').choices([
        'skip',
        'queue',
        'allow',
        'cancel_running',
      ]),
    )
    .addOption(new Option('--catch-up <which>', 'Missed times that still fire.').choices(['none', 'last', 'all']))
    .addHelpText(
      'after',
      examples(
        `svc schedules create nightly-report --definition report --cron '30 2 * * 1-5' --timezone Europe/Berlin`,
        'svc schedules create nightly-report --file @nightly.json',
      ),
    )
    .action(async (id: string, own: Create, command: Command) => {
      const { createSchedule } = await import('./schedules.ts');
      const shared = sharedOf(command);
      finish(await createSchedule(steering(shared), id, { ...own, ...projectOf(shared) }));
    });
  inProject(asJson(asking(create, 'execute')), 'The project of it and of its runs.');

  for (const [action, description] of [
    ['pause', 'Let its times be missed from now on; a trigger still works.'],
    ['resume', 'Go on; the times that were missed follow its catch_up.'],
    ['trigger', 'Fire once, now.'],
  ] as const) {
    const move = schedules
      .command(action)
      .description(description)
      .argument('<id>', 'The schedule.')
      .addHelpText('after', examples(`svc schedules ${action} nightly-report`))
      .action(async (id: string, _own: object, command: Command) => {
        const { moveSchedule } = await import('./schedules.ts');
        const shared = sharedOf(command);
        finish(await moveSchedule(showing(shared), id, action, projectOf(shared)));
      });
    inProject(asJson(asking(move, 'execute')), 'The project of it.');
  }

  const remove = schedules
    .command('delete')
    .description('Delete it; runs that it started go on.')
    .argument('<id>', 'The schedule.')
    .addHelpText('after', examples('svc schedules delete nightly-report'))
    .action(async (id: string, _own: object, command: Command) => {
      const { deleteSchedule } = await import('./schedules.ts');
      const shared = sharedOf(command);
      finish(await deleteSchedule(showing(shared), id, projectOf(shared)));
    });
  inProject(asJson(asking(remove, 'execute')), 'The project of it.');
};
