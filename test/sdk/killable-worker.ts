/**
 * A worker that is there to be killed: `node killable-worker.ts <url> <delivery>`. It says when it serves and when its body
 * runs, and the body never ends.
 */
import { createWorker, defineWorkflow, type StepBody } from '../../sdk/typescript/src/index.ts';

export type Delivery = 'at_least_once' | 'at_most_once';

/** One step that a killed worker leaves behind, and one to which `on_error` leads when nobody may take it over. */
export const killable = (delivery: Delivery, bodies: { readonly charge: StepBody; readonly mend: StepBody }) =>
  defineWorkflow({
    definition: {
      id: delivery,
      version: 1,
      steps: [
        { id: 'charge', kind: 'task', delivery, on_error: [{ class: 'orphaned', to: 'mend' }], next: 'charged' },
        { id: 'charged', kind: 'succeed', output: { by: '${steps.charge.output}' } },
        { id: 'mend', kind: 'task', next: 'mended' },
        { id: 'mended', kind: 'succeed', output: { by: '${steps.mend.output}' } },
      ],
    },
    bodies,
  });

if (import.meta.main) {
  const [endpoint = '', delivery = 'at_least_once'] = process.argv.slice(2);
  const charge: StepBody = (context) => {
    console.log(`charges, attempt ${context.attempt}`);
    return new Promise(() => {});
  };
  const workflows = [killable(delivery as Delivery, { charge, mend: () => 'the first' })];
  // Its reader counts the lines of its body alone.
  const logger = { warn: console.warn, error: console.error };
  await createWorker({ endpoint, workflows, workerId: 'first', logger }).run();
}
