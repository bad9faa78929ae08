import { defineWorkflow, loadDefinition, type } from '../../sdk/typescript/src/index.ts';
import { pay } from './bank.ts';
import { apologise, judge, MODEL } from './fake-model.ts';

export type Ticket = { readonly id: string; readonly text: string; readonly amount: number };

/**
 * A refund: a model judges the ticket; a small and clear case is paid at once, anything else waits for a person, who has a
 * day to answer.
 */
export const refund = defineWorkflow({
  // The one that workers in other languages register too, so that any of them may serve a step of a run.
  definition: loadDefinition(new URL('refund.json', import.meta.url)),
  input: type<{ ticket: Ticket }>(),
  bodies: {
    triage: async (context, { ticket }: { ticket: Ticket }) => {
      const judgement = await context.span(
        'judge the complaint',
        { kind: 'model_generation', model: MODEL, provider: 'openai', input: ticket.text },
        async (span) => {
          const { usage, ...answer } = await judge(ticket.text, context.signal);
          span.setUsage(usage);
          span.setOutput(answer);
          return answer;
        },
      );
      context.patchState(judgement);
      return judgement;
    },

    // Paid once, however often this runs: the key is the same for every attempt.
    pay: (context, { amount }: { amount: number }) =>
      context.span('call the bank', { kind: 'tool_call', entityName: 'bank', input: { amount } }, () =>
        pay(amount, context.stepKey),
      ),

    apologise: (context, { ticket }: { ticket: Ticket }) =>
      context.span(
        'write to the customer',
        { kind: 'model_generation', model: MODEL, provider: 'openai', input: ticket.text },
        async (span) => {
          const { text, usage } = await apologise(ticket.text, context.signal);
          span.setUsage(usage);
          span.setOutput(text);
          return { text };
        },
      ),
  },
});
