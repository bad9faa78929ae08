import { defineWorkflow, type } from '../../sdk/typescript/src/index.ts';
import { pay } from './bank.ts';
import { apologise, judge, MODEL } from './fake-model.ts';

export type Ticket = { readonly id: string; readonly text: string; readonly amount: number };

/**
 * A refund: a model judges the ticket; a small and clear case is paid at once, anything else waits for a person, who has a
 * day to answer.
 */
export const refund = defineWorkflow({
  definition: {
    id: 'refund',
    version: 1,
    input_schema: {
      type: 'object',
      required: ['ticket'],
      properties: {
        ticket: {
          type: 'object',
          required: ['id', 'text', 'amount'],
          properties: { id: { type: 'string' }, text: { type: 'string' }, amount: { type: 'number', minimum: 0 } },
        },
      },
    },
    limits: { max_steps: 50, run_timeout_ms: 172_800_000, max_cost_usd: 1 },
    steps: [
      {
        id: 'triage',
        kind: 'task',
        input: { ticket: '${input.ticket}' },
        timeout_ms: 60_000,
        next: [{ when: 'state.confidence >= 0.8 && input.ticket.amount <= 100', to: 'pay' }, { to: 'ask' }],
      },
      {
        id: 'ask',
        kind: 'wait_event',
        event: 'approval',
        key: 'ticket/${input.ticket.id}',
        // The person may be faster than the model: an approval that came before the wait counts.
        accept_parked: true,
        timeout_ms: 86_400_000,
        on_error: [{ class: 'timeout', to: 'apologise' }],
        next: [{ when: 'steps.ask.output.approved', to: 'pay' }, { to: 'apologise' }],
      },
      {
        id: 'pay',
        kind: 'task',
        input: { amount: '${input.ticket.amount}' },
        retry: { max_attempts: 5, backoff_ms: 500 },
        next: 'done',
      },
      {
        id: 'done',
        kind: 'succeed',
        output: { payment: '${steps.pay.output.payment}', amount: '${steps.pay.output.amount}' },
      },
      { id: 'apologise', kind: 'task', input: { ticket: '${input.ticket}' }, next: 'refused' },
      { id: 'refused', kind: 'fail', code: 'refused', message: 'refused: ${state.reason?}' },
    ],
  },
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
