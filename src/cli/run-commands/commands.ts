import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import type { components } from '../../model/generated/openapi.ts';
import {
  type Asking,
  type Connection,
  examples,
  type Finish,
  type Page,
  pairs,
  type Printed,
  sequence,
} from '../asking.ts';
import type { RunFilters } from './list.ts';
import type { RestartOptions } from './steer.ts';

type RunStatus = components['schemas']['RunStatus'];

/** The members of a closed list of the API; a new one does not compile until it stands here. */
const namesOf = <N extends string>(names: Record<N, true>): string => Object.keys(names).join(', ');
const statuses = namesOf<RunStatus>({
  scheduled: true,
  queued: true,
  running: true,
  waiting: true,
  paused: true,
  succeeded: true,
  failed: true,
  cancelled: true,
});
const waits = namesOf<NonNullable<RunFilters['waiting_on']>>({
  event: true,
  timer: true,
  backoff: true,
  children: true,
  worker: true,
  orphan: true,
  key: true,
});

/** The bounds are the service's own: it says which number is beyond them. */
const priority = (text: string): number => {
  if (!/^-?\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from -100 to 100.');
  return Number(text);
};

type Correlation = Readonly<Record<string, string>>;
type Start = {
  readonly input: string;
  readonly idempotencyKey?: string;
  readonly correlation?: Correlation;
  readonly wait?: true;
  readonly startAt?: string;
  readonly priority?: number;
};
type BulkAction = components['schemas']['BulkAction'];
type Bulk = {
  readonly status?: RunStatus;
  readonly definition?: string;
  readonly parent?: string;
  readonly waitingOn?: NonNullable<RunFilters['waiting_on']>;
  readonly session?: string;
  readonly user?: string;
  readonly from?: string;
  readonly to?: string;
  readonly reason?: string;
  readonly correlation?: Correlation;
  readonly event?: string;
  readonly payload?: string;
  readonly idempotencyKey?: string;
  readonly yes?: true;
};
type EventOptions = { readonly payload: string; readonly eventId?: string };

/** Declares `svc runs` and its commands. */
export const declareRuns = (
  program: Command,
  { asking, inProject, paged, asJson, showing, steering, pageOf, projectOf, sharedOf }: Asking,
  finish: Finish,
): void => {
  type Filters = Page & {
    readonly status?: RunStatus;
    readonly definition?: string;
    readonly parent?: string;
    readonly waitingOn?: NonNullable<RunFilters['waiting_on']>;
    readonly session?: string;
    readonly user?: string;
    readonly correlation?: Correlation;
    readonly from?: string;
    readonly to?: string;
  };
  const runs = program
    .command('runs')
    .description('Durable runs: list them, show one, start, signal, pause, resume, restart, cancel or watch one.')
    .enablePositionalOptions()
    .argument('[id]', 'The run to show: where it stands, what it waits for, what happens next.')
    .option('--status <status>', `Only those with this status: ${statuses}.`)
    .option('--definition <id>', 'Only those of this definition.')
    .option('--parent <id>', 'Only the children of this run.')
    .option('--waiting-on <what>', `Only those that wait for: ${waits}.`)
    .option('--session <id>', 'Only those of this session.')
    .option('--user <id>', 'Only those of this user.')
    .option('--correlation <name=value>', 'Only those with this correlation. May repeat.', pairs)
    .option('--from <time>', 'Only those created at or after: RFC 3339, or relative as -1h.')
    .option('--to <time>', 'Only those created before.')
    .addHelpText(
      'after',
      examples(
        'svc runs --status failed --from -1h',
        'svc runs --waiting-on event --correlation user_id=customer-7',
        'svc runs <id>',
        'svc runs <id> --json',
      ),
    )
    .action(async (id: string | undefined, options: Connection & Filters & Printed) => {
      if (id !== undefined) {
        const { showRun } = await import('./steer.ts');
        return finish(await showRun(steering(options), id));
      }
      const { listRuns } = await import('./list.ts');
      const { status, definition, parent, waitingOn, session, user, correlation = {}, from, to } = options;
      finish(
        await listRuns(showing(options), {
          ...pageOf(options),
          ...(status === undefined ? {} : { status }),
          ...(definition === undefined ? {} : { definition_id: definition }),
          ...(parent === undefined ? {} : { parent_run_id: parent }),
          ...(waitingOn === undefined ? {} : { waiting_on: waitingOn }),
          ...(session === undefined ? {} : { session_id: session }),
          ...(user === undefined ? {} : { user_id: user }),
          ...Object.fromEntries(Object.entries(correlation).map(([name, value]) => [`correlation.${name}`, value])),
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
        }),
      );
    });
  asking(asJson(paged(inProject(runs, 'The project to list; `*` is every one.'))));

  const start = runs
    .command('start')
    .description('Start a run of a definition that a worker registered.')
    .argument('<definition>', 'Its id, such as refund; refund@2 names a version.')
    .option('--input <json>', 'JSON text, @file, or - for standard input.', '{}')
    .option('--idempotency-key <key>', 'The same key again gives the run that it started first.')
    .option('--correlation <name=value>', 'What the run belongs to, such as user_id=customer-7. May repeat.', pairs)
    .option('--start-at <time>', 'Begin then and not now: RFC 3339, or relative as +10m.')
    .addOption(
      new Option('--priority <number>', 'From -100 to 100; steps of a higher one are offered first.').argParser(
        priority,
      ),
    )
    .option('--wait', 'Wait for its end and show it; exit status 3 when it failed or was cancelled.')
    .addHelpText(
      'after',
      examples(
        `svc runs start hello --input '{"name": "Ada"}'`,
        'svc runs start refund@2 --input @ticket.json --wait',
        'jq .ticket mail.json | svc runs start refund --input -',
      ),
    )
    .action(async (definition: string, own: Start, command: Command) => {
      const { startRun } = await import('./steer.ts');
      const shared = sharedOf(command);
      const { input, idempotencyKey, correlation = {}, wait, startAt, priority: points } = own;
      finish(
        await startRun(steering(shared), definition, {
          input,
          ...projectOf(shared),
          ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
          correlation,
          wait: wait === true,
          ...(startAt === undefined ? {} : { startAt }),
          ...(points === undefined ? {} : { priority: points }),
        }),
      );
    });
  inProject(asJson(asking(start, 'execute')), 'The project to start it in.');

  const signal = runs
    .command('signal')
    .description('Give an event to the wait of one run, whatever key it waits with.')
    .argument('<id>', 'The run.')
    .argument('<event>', 'The name of the event.')
    .option('--payload <json>', 'A JSON object as text, @file, or - for standard input.', '{}')
    .option('--event-id <id>', 'The same id again changes nothing.')
    .addHelpText('after', examples(`svc runs signal <id> approval --payload '{"approved": true}'`))
    .action(async (id: string, event: string, own: EventOptions, command: Command) => {
      const { signalRun } = await import('./steer.ts');
      finish(await signalRun(steering(sharedOf(command)), id, event, own));
    });
  asJson(asking(signal, 'execute'));

  for (const [verb, what] of [
    ['pause', 'Pause a run and its child runs: nothing of it is offered or starts until it is resumed.'],
    ['resume', 'Resume a paused run: what was kept meanwhile acts at once.'],
  ] as const) {
    const command = runs
      .command(verb)
      .description(what)
      .argument('<id>', 'The run.')
      .option('--reason <text>', 'Why, for its journal.')
      .addHelpText('after', examples(`svc runs ${verb} <id> --reason weekend`))
      .action(async (id: string, { reason }: { reason?: string }, own: Command) => {
        const { changePause } = await import('./steer.ts');
        finish(await changePause(steering(sharedOf(own)), verb, id, reason));
      });
    asJson(asking(command, 'execute'));
  }

  const cancel = runs
    .command('cancel')
    .description('End a run and its child runs.')
    .argument('<id>', 'The run.')
    .option('--reason <text>', 'Why, for its journal.')
    .addHelpText('after', examples('svc runs cancel <id> --reason "ordered twice"'))
    .action(async (id: string, { reason }: { reason?: string }, command: Command) => {
      const { cancelRun } = await import('./steer.ts');
      finish(await cancelRun(steering(sharedOf(command)), id, reason));
    });
  asJson(asking(cancel, 'execute'));

  const bulk = runs
    .command('bulk')
    .description('Do something with all runs that match a filter: shows how many there are, and asks first.')
    .addArgument(
      new Argument('<action>', 'What to do with each.').choices(['cancel', 'pause', 'resume', 'restart', 'signal']),
    )
    .option('--status <status>', `Only those with this status: ${statuses}.`)
    .option('--definition <id>', 'Only those of this definition.')
    .option('--parent <id>', 'Only the children of this run.')
    .option('--waiting-on <what>', `Only those that wait for: ${waits}.`)
    .option('--session <id>', 'Only those of this session.')
    .option('--user <id>', 'Only those of this user.')
    .option('--correlation <name=value>', 'Only those with this correlation. May repeat.', pairs)
    .option('--from <time>', 'Only those created at or after: RFC 3339, or relative as -1h.')
    .option('--to <time>', 'Only those created before.')
    .option('--reason <text>', 'Why, for their journals.')
    .option('--event <name>', 'Of a signal: the name of the event.')
    .option('--payload <json>', 'Of a signal: a JSON object, @file, or - for standard input. (default: {})')
    .option('--idempotency-key <key>', 'The same key again waits for the action that it began first, and begins none.')
    .option('--yes', 'Ask no question.')
    .addHelpText(
      'after',
      examples(
        'svc runs bulk cancel --definition refund --status waiting',
        'svc runs bulk resume --status paused --yes',
        'svc runs bulk restart --definition refund --status failed',
        `svc runs bulk signal --correlation release=4.2 --event approval --payload '{"approved": true}'`,
      ),
    )
    .action(async (action: BulkAction, own: Bulk, command: Command) => {
      const { bulkRuns } = await import('./bulk.ts');
      const shared = sharedOf(command);
      const {
        status,
        definition,
        parent,
        waitingOn,
        session,
        user,
        correlation,
        from,
        to,
        reason,
        event,
        payload,
        idempotencyKey,
        yes,
      } = {
        ...command.parent?.opts<Bulk>(),
        ...own,
      };
      finish(
        await bulkRuns(
          steering(shared),
          {
            action,
            dry_run: false,
            filter: {
              ...projectOf(shared),
              ...(status === undefined ? {} : { status }),
              ...(definition === undefined ? {} : { definition_id: definition }),
              ...(parent === undefined ? {} : { parent_run_id: parent }),
              ...(waitingOn === undefined ? {} : { waiting_on: waitingOn }),
              ...(session === undefined ? {} : { session_id: session }),
              ...(user === undefined ? {} : { user_id: user }),
              ...(correlation === undefined ? {} : { correlation }),
              ...(from === undefined ? {} : { from }),
              ...(to === undefined ? {} : { to }),
            },
            ...(reason === undefined ? {} : { reason }),
            ...(event === undefined ? {} : { event }),
            ...(idempotencyKey === undefined ? {} : { idempotency_key: idempotencyKey }),
          },
          { yes: yes === true, ...(payload === undefined ? {} : { payload }) },
        ),
      );
    });
  inProject(asJson(asking(bulk, 'execute')), 'The project of the runs; `*` is every one.');

  const restart = runs
    .command('restart')
    .description('Take up an ended run at the step that failed, or at another, as a new run.')
    .argument('<id>', 'The run that has ended.')
    .option('--from-step <step>', 'The step with which the new run begins; by default the one that failed.')
    .addOption(new Option('--visit <n>', 'Which visit of that step; by default the last.').argParser(sequence))
    .addOption(new Option('--definition-version <n>', 'By default that of the run.').argParser(sequence))
    .option('--input <json>', 'Another input: JSON text, @file, or - for standard input.')
    .option('--state-patch <json>', 'A JSON object, @file or -: its members replace those of the state of then.')
    .option('--idempotency-key <key>', 'The same key again gives the run that it started first.')
    .option('--wait', 'Wait for its end and show it; exit status 3 when it failed or was cancelled.')
    .addHelpText(
      'after',
      examples(
        'svc runs restart <id>',
        'svc runs restart <id> --definition-version 4 --wait',
        `svc runs restart <id> --from-step draft --visit 1 --state-patch '{"tone": "formal"}'`,
      ),
    )
    .action(async (id: string, own: RestartOptions, command: Command) => {
      const { restartRun } = await import('./steer.ts');
      finish(await restartRun(steering(sharedOf(command)), id, own));
    });
  asJson(asking(restart, 'execute'));

  const watch = runs
    .command('watch')
    .description('Follow the journal of a run until it ends: exit status 3 when it failed or was cancelled.')
    .argument('<id>', 'The run.')
    .addOption(new Option('--after <seq>', 'Only entries behind this one.').argParser(sequence))
    .addHelpText('after', examples('svc runs watch <id>', 'svc runs watch <id> --json'))
    .action(async (id: string, { after = -1 }: { after?: number }, command: Command) => {
      const { watchRun } = await import('./watch.ts');
      finish(await watchRun(steering(sharedOf(command)), id, { after }));
    });
  asJson(asking(watch), 'Print each entry as JSON, one a line.');
};

/** Declares `svc definitions` and its commands. */
export const declareDefinitions = (
  program: Command,
  { asking, inProject, asJson, steering, projectOf, sharedOf }: Asking,
  finish: Finish,
): void => {
  const definitions = program
    .command('definitions')
    .description('Definitions of workflows: pause or resume one, in all its versions.')
    .enablePositionalOptions();
  for (const [verb, what] of [
    ['pause', 'Pause a definition: starts stay queued, and no step of its runs is offered.'],
    ['resume', 'Resume a paused definition: the runs that waited for it begin.'],
  ] as const) {
    const command = definitions
      .command(verb)
      .description(what)
      .argument('<id>', 'The definition, such as refund.')
      .option('--reason <text>', 'Why, for those who look at it.')
      .addHelpText('after', examples(`svc definitions ${verb} refund`))
      .action(async (id: string, { reason }: { reason?: string }, own: Command) => {
        const { changeDefinitionPause } = await import('./steer.ts');
        const shared = sharedOf(own);
        const options = { ...projectOf(shared), ...(reason === undefined ? {} : { reason }) };
        finish(await changeDefinitionPause(steering(shared), verb, id, options));
      });
    inProject(
      asJson(asking(command, 'execute')),
      'The project that owns it; by default that of the key, or the service.',
    );
  }
};

/** Declares `svc events` and its commands. */
export const declareEvents = (
  program: Command,
  { asking, inProject, paged, asJson, showing, steering, pageOf, projectOf, sharedOf }: Asking,
  finish: Finish,
): void => {
  const events = program
    .command('events')
    .description('Events that no run has taken yet, newest first; or publish one.')
    .enablePositionalOptions()
    .addHelpText('after', examples('svc events', 'svc events publish approval order-17'))
    .action(async (options: Connection & Page & Printed) => {
      const { listEvents } = await import('./events.ts');
      finish(await listEvents(showing(options), pageOf(options)));
    });
  asJson(paged(inProject(asking(events, 'execute'), 'The project to list; `*` is every one.')));
  const publish = events
    .command('publish')
    .description('Give an event to whichever run waits for it by name and key; without one it is parked for 24 hours.')
    .argument('<event>', 'The name of the event.')
    .argument('<key>', 'The key that the run waits with.')
    .option('--payload <json>', 'A JSON object as text, @file, or - for standard input.', '{}')
    .option('--event-id <id>', 'The same id again changes nothing.')
    .addHelpText('after', examples(`svc events publish approval order-17 --payload '{"approved": true}'`))
    .action(async (event: string, key: string, own: EventOptions, command: Command) => {
      const { publishEvent } = await import('./steer.ts');
      const shared = sharedOf(command);
      finish(await publishEvent(steering(shared), event, key, { ...own, ...projectOf(shared) }));
    });
  inProject(asJson(asking(publish, 'execute')), 'The project to publish it in.');
};
