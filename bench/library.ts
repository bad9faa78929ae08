/** The client library for TypeScript under load: a worker and a client of it in this process. */
import { createClient, createWorker, defineWorkflow } from '../sdk/typescript/src/index.ts';

export type LibraryPlan = {
  readonly url: string;
  /** The id of a definition that the service holds. */
  readonly definition: string;
  /** Runs under way at any time. */
  readonly inFlight: number;
};

const WAIT_MS = 60_000;

/**
 * Serves all steps of a definition with bodies that do nothing.
 * @throws Error when the service is not on the loopback address, which load never leaves
 */
export const startLibrary = async ({ url, definition: id, inFlight }: LibraryPlan) => {
  const { hostname } = new URL(url);
  if (hostname !== '127.0.0.1') throw new Error(`load goes to 127.0.0.1 only, not to ${hostname}`);
  const client = createClient({ endpoint: url });
  const { latest: definition } = await client.getDefinition(id);
  let steps = 0;
  const body = (): { ok: boolean } => {
    steps += 1;
    return { ok: true };
  };
  const worker = createWorker({
    endpoint: url,
    workflows: [
      defineWorkflow({ definition, bodies: Object.fromEntries(definition.steps.map((step) => [step.id, body])) }),
    ],
    concurrency: inFlight,
    logger: { warn: () => {}, error: (message) => console.error(message) },
  });
  const served = worker.run();
  return {
    /** Bodies that have run so far. */
    steps: (): number => steps,
    /** Starts a run and waits for its end. @throws Error when it did not succeed */
    startAndAwait: async (n: number): Promise<void> => {
      const { run_id, status } = await client.start(id, { n }, { waitMs: WAIT_MS });
      if (status !== 'succeeded') throw new Error(`run ${run_id} is ${status}`);
    },
    stop: async (): Promise<void> => {
      await worker.stop();
      await served;
      client.close();
    },
  };
};
