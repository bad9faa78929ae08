import type { Command } from 'commander';

type ConformanceFlags = {
  readonly only?: string;
  readonly exclude?: string;
  readonly report?: string;
  readonly jobs?: string;
  readonly list?: true;
};

/**
 * Declares `svc conformance`: the kit that judges client libraries.
 * @see sdk/conformance/README.md
 */
export const declareConformance = (
  program: Command,
  io: { readonly out: (text: string) => void },
  finish: (code: number) => void,
): void => {
  program
    .command('conformance')
    .description('Judge a client library through its fixture: exit status 1 when a scenario fails.')
    .usage('[options] -- <command of the fixture>')
    .argument('[fixture...]', 'The command that starts the fixture.')
    .option('--only <words>', 'Scenarios whose number or name is in the list: 34, worker, worker/claims.')
    .option('--exclude <file>', 'Scenarios that the library does not pass, each with its reason.')
    .option('--report <file>', 'Write a JUnit report.')
    .option('--jobs <n>', 'Scenarios at once.', '8')
    .option('--list', 'Print the scenarios, run none.')
    .addHelpText(
      'after',
      `
Examples:
  svc conformance -- ./my-fixture                    judge the library behind it
  svc conformance --only worker -- ./my-fixture      its worker alone`,
    )
    .action(async (fixture: readonly string[], { list, ...valued }: ConformanceFlags) => {
      // Loaded when asked for: the service needs none of it.
      const { runConformance } = await import('../../sdk/conformance/run.ts');
      const flags = Object.entries(valued).flatMap(([name, value]) => [`--${name}`, value]);
      const argv = [...flags, ...(list === true ? ['--list'] : []), '--', ...fixture];
      finish(await runConformance(argv, (line) => io.out(`${line}\n`)));
    });
};
