import type { Json, JsonObject } from '../model/json.ts';
import type { Span } from '../model/span.ts';
import { createKeyRule, type HashableIdentifier } from './redact-keys.ts';
import { REDACTED, type RedactionSettings } from './redact.ts';

/** Why something of a stored span is not what was sent. Nothing here holds a value. */
export type Redaction = {
  /** Where it stands: names of members, joined by dots. */
  readonly path: string;
  /**
   * - `built_in_key`, `configured_key`: the key that it stands under names a secret.
   * - `in_text`: a key inside a text named it.
   * - `repeated`: it repeats what was redacted elsewhere in the span, or was sent as it stands.
   * - `hashed`: an identifier, under today's settings; only where it looks like such a hash.
   */
  readonly rule: 'built_in_key' | 'configured_key' | 'in_text' | 'repeated' | 'hashed';
};

/** Redactions that are named, values that are looked at, and characters of a path, at the most. */
const MOST_NAMED = 500;
const MOST_LOOKED_AT = 100_000;
const MOST_PATH_CHARACTERS = 300;
const MOST_DEPTH = 256;

const HASH = /^[0-9a-f]{32}$/;

const fieldOf = {
  user_id: 'userId',
  session_id: 'sessionId',
  thread_id: 'threadId',
  request_id: 'requestId',
  resource_id: 'resourceId',
} as const satisfies Record<HashableIdentifier, keyof Span['correlation']>;

/** Finds what ingest redacted in stored spans, by the rules that it redacts with. */
export const createRedactionFinder = ({ keys = [], hashIdentifiers = [] }: RedactionSettings) => {
  const builtIn = createKeyRule([], []);
  const configured = createKeyRule(keys, []);

  return (
    span: Pick<Span, 'input' | 'output' | 'attributes' | 'events' | 'links' | 'error' | 'correlation'>,
  ): { readonly redactions: readonly Redaction[]; readonly isComplete: boolean } => {
    const redactions: Redaction[] = [];
    let left = MOST_LOOKED_AT;
    let isComplete = true;
    const note = (path: readonly string[], rule: Redaction['rule']): void => {
      if (redactions.length < MOST_NAMED)
        redactions.push({ path: path.join('.').slice(0, MOST_PATH_CHARACTERS), rule });
      else isComplete = false;
    };
    const walk = (value: Json, path: readonly string[], key: string | undefined): void => {
      if (left === 0 || path.length > MOST_DEPTH) {
        isComplete = false;
        return;
      }
      left -= 1;
      if (typeof value === 'string') {
        if (value === REDACTED) {
          const isKey = key !== undefined && configured(key) === 'redact';
          note(path, !isKey ? 'repeated' : builtIn(key) === 'redact' ? 'built_in_key' : 'configured_key');
        } else if (value.includes(REDACTED)) note(path, 'in_text');
        return;
      }
      if (typeof value !== 'object' || value === null) return;
      if (Array.isArray(value)) {
        for (const [at, item] of (value as readonly Json[]).entries()) walk(item, [...path, String(at)], key);
        return;
      }
      for (const [name, member] of Object.entries(value as JsonObject)) walk(member, [...path, name], name);
    };
    walk(span.attributes, ['attributes'], undefined);
    // A payload that was lifted from an attribute stands there already.
    const held = new Set<Json>(Object.values(span.attributes));
    if (span.input !== undefined && !held.has(span.input)) walk(span.input, ['input'], undefined);
    if (span.output !== undefined && !held.has(span.output)) walk(span.output, ['output'], undefined);
    for (const [at, event] of span.events.entries()) walk(event.attributes, ['events', String(at)], undefined);
    for (const [at, link] of span.links.entries()) walk(link.attributes, ['links', String(at)], undefined);
    if (span.error !== undefined) walk({ ...span.error }, ['error'], undefined);
    for (const identifier of hashIdentifiers) {
      const id = span.correlation[fieldOf[identifier]];
      if (id !== undefined && HASH.test(id)) note(['correlation', identifier], 'hashed');
    }
    return { redactions, isComplete };
  };
};
