import type { components } from '../api/types.ts';

type Batch = components['schemas']['IngestBatch'];
type NewSpan = NonNullable<Batch['spans']>[number];

/** What sample data is made with: ids are drawn by the caller, who has the randomness. */
type Made = { readonly nowMs: number; readonly id: (bytes: number) => string; readonly project: string | undefined };

const questions = [
  ['Where is my parcel? Order 4471.', 'It is in the depot in Lyon and arrives tomorrow before noon.'],
  ['I was charged twice for one month.', 'You are right. I refunded the second charge; it takes two days.'],
  ['Can I change the delivery address?', 'Yes, until it leaves the depot. I changed it to Rue Cler 12.'],
] as const;
const MINUTE_MS = 60_000;
const MODEL = { model: 'gpt-4o-mini', provider: 'openai' } as const;

/** One answer of an agent: what it looked up, what it asked a model, and a tool that may have failed. */
const answer = ({ nowMs, id, project }: Made, place: number, failed: boolean) => {
  const [question, reply] = questions[place % questions.length] ?? ['', ''];
  const start = nowMs - (place + 1) * MINUTE_MS;
  const trace_id = id(16);
  const root = id(8);
  const correlation = {
    ...(project === undefined ? {} : { project }),
    user_id: place % 2 === 0 ? 'ada' : 'grace',
    session_id: `sample-${place % 2}`,
    environment: 'sample',
    service_name: 'sample-agent',
  };
  const span = (
    name: string,
    kind: NewSpan['kind'] & string,
    from: number,
    to: number,
    fields: Partial<NewSpan>,
  ): NewSpan => ({
    trace_id,
    span_id: id(8),
    ...(fields.span_id === undefined ? { parent_span_id: root } : {}),
    name,
    kind,
    status: 'ok',
    start_time: new Date(start + from).toISOString(),
    end_time: new Date(start + to).toISOString(),
    correlation,
    ...fields,
  });
  const error = { type: 'TimeoutError', message: 'the carrier did not answer within 5 s' };
  const failing: Partial<NewSpan> = failed ? { status: 'error', error } : {};
  const messages = [{ role: 'user', content: question }];
  return {
    trace_id,
    spans: [
      span('answer_ticket', 'agent_run', 0, 6200, {
        span_id: root,
        input: question,
        ...(failed ? failing : { output: reply }),
      }),
      span('find policy', 'retrieval', 40, 210, { input: question, output: ['Parcels', 'Refunds'] }),
      span('chat', 'model_generation', 230, 1400, {
        ...MODEL,
        input: messages,
        output: { role: 'assistant', content: 'I look the order up.' },
        usage: { input_tokens: 812 + place * 40, output_tokens: 64, total_tokens: 876 + place * 40 },
      }),
      span('find_order', 'tool_call', 1450, failed ? 6200 : 2100, {
        input: { order: 4471 + place },
        ...(failed ? failing : { output: { status: 'in the depot' } }),
      }),
      ...(failed
        ? []
        : [
            span('chat', 'model_generation', 2150, 3900, {
              ...MODEL,
              input: [...messages, { role: 'tool', content: 'in the depot' }],
              output: { role: 'assistant', content: reply },
              usage: { input_tokens: 955 + place * 40, output_tokens: 118, total_tokens: 1073 + place * 40 },
            }),
          ]),
    ],
  };
};

/** The traces of one agent within the last minutes, one of them failed; with a score and feedback, which stay apart. */
export const sampleData = (made: Made) => {
  const answers = [0, 1, 2, 3, 4, 5].map((place) => answer(made, place, place === 1));
  const of = (place: number) => ({
    trace_id: answers[place]?.trace_id ?? '',
    ...(made.project === undefined ? {} : { correlation: { project: made.project } }),
  });
  return {
    spans: answers.flatMap(({ spans }) => spans),
    scores: [0, 2, 3].map((place) => ({ ...of(place), scorer_id: 'helpfulness', value: 0.9 - place / 10 })),
    feedback: [
      { ...of(0), kind: 'thumbs', value: 'up' },
      { ...of(1), kind: 'thumbs', value: 'down' },
      { ...of(2), kind: 'comment', value: 'quick and kind' },
    ],
  } satisfies Batch;
};
