import { attributeOf, type Span, type SpanKind } from '../../model/span.ts';

type Attributed = Pick<Span, 'attributes' | 'sharedAttributes'>;

/**
 * What Logfire's SDK writes in its own way. A span's name is the template of its message; a streamed model call is two
 * spans: one that ends when the stream begins, and a point in time after its end that carries answer and usage.
 * @see Logfire, `logfire.msg_template`, `logfire.span_type`
 */
/** The scope of spans that a user writes by hand. */
export const LOGFIRE_SCOPE = 'logfire';
/** How those of its instrumentations begin: `logfire.openai`, `logfire.anthropic`. */
export const LOGFIRE_INSTRUMENTATION = 'logfire.';
const TEMPLATE = 'logfire.msg_template';
const MESSAGE = 'logfire.msg';
const SPAN_TYPE = 'logfire.span_type';

const textAt = (span: Attributed, name: string): string | undefined => {
  const value = attributeOf(span, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/** The filled-in message where the name is its template; else the name as it is. */
export const nameOfLogfire = (name: string, span: Attributed): string =>
  textAt(span, TEMPLATE) === name ? (textAt(span, MESSAGE) ?? name) : name;

/** True of the span that only opened a stream: the span that follows it describes the call, which is counted once. */
export const isOpeningOfStream = (
  facts: { readonly kind: SpanKind; readonly status: string; readonly hasUsage: boolean; readonly hasOutput: boolean },
  span: Attributed,
): boolean =>
  facts.kind === 'model_generation' &&
  facts.status === 'ok' &&
  !facts.hasUsage &&
  !facts.hasOutput &&
  textAt(span, SPAN_TYPE) === 'span';
