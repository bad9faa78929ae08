import type { Json, JsonObject } from '../../model/json.ts';
import type { SpanEvent } from '../../model/span.ts';
import { type MutableJsonObject, newJsonObject, setMember } from '../json-object.ts';

/**
 * Prompts and completions that older instrumentations put into the events of a span instead of its attributes.
 * @see OpenTelemetry GenAI conventions before 1.37 (message events), OpenLLMetry and OpenLIT (content events)
 */
const INPUT_MESSAGE = /^gen_ai\.(system|user|assistant|tool)\.message$/;
const CHOICE = 'gen_ai.choice';
const CONTENT_PROMPT = 'gen_ai.content.prompt';
const CONTENT_COMPLETION = 'gen_ai.content.completion';
const OPERATION_DETAILS = 'gen_ai.client.inference.operation.details';

const at = (attributes: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(attributes, name) ? attributes[name] : undefined;

const asMessage = (role: string | undefined, attributes: JsonObject): Json => {
  const message: MutableJsonObject = newJsonObject();
  if (role !== undefined) message['role'] = role;
  for (const name of Object.keys(attributes)) {
    // The provider's name is on each event and on the span: it is not a part of the message.
    if (name !== 'gen_ai.system' && name !== 'gen_ai.provider.name') setMember(message, name, attributes[name] as Json);
  }
  return message;
};

export type MessagesOfEvents = { readonly input?: Json; readonly output?: Json };

/** Input and output as far as the span's events tell them; tried only where no attribute did. */
export const messagesOfEvents = (events: readonly SpanEvent[]): MessagesOfEvents => {
  const messages: Json[] = [];
  const choices: Json[] = [];
  let input: Json | undefined;
  let output: Json | undefined;
  for (const { name, attributes } of events) {
    if (!name.startsWith('gen_ai.')) continue;
    const role = INPUT_MESSAGE.exec(name)?.[1];
    if (role !== undefined) messages.push(asMessage(role, attributes));
    else if (name === CHOICE) choices.push(asMessage(undefined, attributes));
    else if (name === CONTENT_PROMPT) input ??= at(attributes, 'gen_ai.prompt');
    else if (name === CONTENT_COMPLETION) output ??= at(attributes, 'gen_ai.completion');
    else if (name === OPERATION_DETAILS) {
      input ??= at(attributes, 'gen_ai.input.messages');
      output ??= at(attributes, 'gen_ai.output.messages');
    }
  }
  if (messages.length > 0) input = messages;
  if (choices.length > 0) output = choices;
  return { ...(input !== undefined && { input }), ...(output !== undefined && { output }) };
};
