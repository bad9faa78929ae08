import { spawn } from 'node:child_process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient, type JournalEntry, loadDefinition, type Run } from '../../sdk/typescript/src/index.ts';
import { chosenLanguages, prepare, SDK_VARIABLE, type SdkLanguage } from '../../tools/sdk.ts';
import { aLastingPort, type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';
import { eventually } from '../eventually.ts';

const REFUND = loadDefinition(new URL('../../examples/refund-agent/refund.json', import.meta.url));
/** What a killed worker held goes to the next one after two seconds. */
const LEASES = ['--lease-ttl-ms', '2000', '--reclaim-window-ms', '0'];

/** A service that can be killed, and comes back at its address and on its files. */
const startService = async () => {
  const folder = temporaryFolder();
  const flags = [...LEASES, '--port', String(await aLastingPort())];
  let daemon: Daemon = await startDaemon(folder.path, flags);
  const client = createClient({ endpoint: daemon.url, retry: { attempts: 40, baseMs: 20, maxMs: 500 } });
  onTestFinished(async () => {
    client.close();
    await daemon.stop('SIGKILL');
    folder.remove();
  });
  return {
    url: daemon.url,
    client,
    killAndRestart: async (): Promise<void> => {
      await daemon.stop('SIGKILL');
      daemon = await startDaemon(folder.path, flags);
    },
  };
};

/** The worker of the refund agent in one language, as a process of its own. */
const startAgent = ({ agent }: SdkLanguage, url: string) => {
  const [program, ...args] = agent.command;
  const child = spawn(program, args, { stdio: 'pipe', env: { ...process.env, SVC_ENDPOINT: url } });
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const kill = (): Promise<void> => {
    child.kill('SIGKILL');
    return ended;
  };
  onTestFinished(kill);
  return { kill, printed: () => printed };
};

const isTriageStarted = ({ kind, step_id }: JournalEntry): boolean => kind === 'step.started' && step_id === 'triage';
const isQuestion = ({ kind, step_id }: JournalEntry): boolean => kind === 'run.waiting' && step_id === 'ask';
const isEnd = ({ kind }: JournalEntry): boolean => kind === 'run.finished';

describe('one definition, served in many languages', () => {
  const languages = chosenLanguages(process.env[SDK_VARIABLE]);
  const [first] = languages;

  it.skipIf(first === undefined || languages.length < 2)(
    'a run that a worker in one language began ends with a worker in another, while workers and service are killed',
    async () => {
      if (first === undefined) return;
      for (const language of languages)
        expect(prepare(language, language.agent), `the refund agent in ${language.name} is there`).toBeUndefined();
      const service = await startService();
      const { client } = service;
      await client.storeDefinitions([REFUND]);

      const journalOf = async (run: Run): Promise<readonly JournalEntry[]> =>
        (await client.journal(run.run_id, { limit: 1000 })).events;
      const startTicket = (id: string, amount: number, text: string): Promise<Run> =>
        client.start('refund', { ticket: { id, text, amount } });
      const languageOf = new Map<string, string>();
      /** Runs that have ended, with the languages that are to have served them, in this order. */
      const ended: { readonly run: Run; readonly by: readonly string[] }[] = [];
      let left: { readonly runs: readonly Run[]; readonly ticket: string; readonly by: string } | undefined;

      for (const [turn, language] of [...languages, first].entries()) {
        // It alone is alive: whatever goes on is its doing.
        const worker = startAgent(language, service.url);
        const reaches = async (run: Run, what: string, isIt: (entry: JournalEntry) => boolean): Promise<void> => {
          const found = eventually(`${what} of ${run.run_id}`, async () => (await journalOf(run)).some(isIt));
          await found.catch((error: Error) => {
            throw new Error(`${error.message}; the worker in ${language.name} printed:\n${worker.printed()}`);
          });
        };

        if (left !== undefined) {
          await client.publish({ event: 'approval', key: `ticket/${left.ticket}`, payload: { approved: true } });
          for (const run of left.runs) {
            await reaches(run, 'the end', isEnd);
            ended.push({ run, by: [left.by, language.name] });
          }
        }

        // The service is killed under a body: its worker reports to the service that comes back, and goes on.
        const own = await startTicket(`own-${turn}`, 40, 'It arrived broken.');
        await reaches(own, 'the first body', isTriageStarted);
        await service.killAndRestart();
        await reaches(own, 'the end', isEnd);
        ended.push({ run: own, by: [language.name] });
        for (const { kind, worker_id } of await journalOf(own))
          if (kind === 'step.started' && worker_id !== undefined) languageOf.set(worker_id, language.name);

        // The worker is killed between two steps of a run, and in the middle of a step of another.
        const ticket = `shared-${turn}`;
        const asking = await startTicket(ticket, 250, 'I do not like the colour any more.');
        await reaches(asking, 'the question', isQuestion);
        const cut = await startTicket(`cut-${turn}`, 40, 'It never arrived.');
        await reaches(cut, 'the first body', isTriageStarted);
        await worker.kill();
        left = { runs: [asking, cut], ticket, by: language.name };
      }

      expect(ended).toHaveLength(3 * languages.length + 1);
      for (const { run, by } of ended) {
        const journal = await journalOf(run);
        expect(journal.map(({ seq }) => seq)).toEqual(journal.map((_, index) => index));
        const { status, output } = await client.getRun(run.run_id);
        expect({ status, output }).toMatchObject({ status: 'succeeded', output: { payment: expect.any(String) } });
        const served = journal
          .filter(({ kind }) => kind === 'step.started')
          .map(({ worker_id = '' }) => languageOf.get(worker_id));
        expect([...new Set(served)], `the languages of the steps of ${run.run_id}`).toEqual(by);
      }
    },
  );
});
