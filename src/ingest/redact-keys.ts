import { detached } from './detached.ts';

/** Correlation fields that may name a person or a device, by their wire names. */
export const hashableIdentifiers = ['user_id', 'session_id', 'thread_id', 'request_id', 'resource_id'] as const;
export type HashableIdentifier = (typeof hashableIdentifiers)[number];

/** What becomes of the value under a key. A hash is made of a scalar; an object under such a key is gone through. */
export type KeyVerdict = 'keep' | 'redact' | HashableIdentifier;

/**
 * Names under which credentials usually travel: headers, configuration, environment variables. Spelling does not matter:
 * `api_key` stands for `API-Key`, `api.key` and `apiKey` as well.
 */
export const defaultRedactedKeys: readonly string[] = [
  ...['authorization', 'proxy_authorization', 'x_authorization', 'bearer', 'cookie', 'cookies', 'set_cookie'],
  ...['password', 'passwd', 'pwd', 'passphrase', 'passcode', 'user_password', 'db_password', 'database_password'],
  ...['old_password', 'new_password', 'current_password', 'password_confirmation', 'pgpassword', 'mysql_pwd'],
  ...['secret', 'secrets', 'client_secret', 'app_secret', 'api_secret', 'shared_secret', 'webhook_secret'],
  ...['secret_key', 'secret_token', 'signing_secret', 'signing_key', 'encryption_key', 'master_key', 'jwt_secret'],
  ...['api_key', 'api_keys', 'x_api_key', 'api_token', 'x_goog_api_key', 'x_svc_key', 'subscription_key'],
  ...['ocp_apim_subscription_key', 'access_key', 'access_key_id', 'secret_access_key', 'account_key'],
  ...['aws_access_key_id', 'aws_secret_access_key', 'aws_session_token', 'x_amz_security_token', 'sas_token'],
  ...['token', 'access_token', 'auth_token', 'refresh_token', 'id_token', 'session_token', 'bearer_token', 'jwt'],
  ...['oauth_token', 'oauth_token_secret', 'x_auth_token', 'x_access_token', 'x_vault_token', 'csrf_token'],
  ...['x_csrf_token', 'xsrf_token', 'x_xsrf_token', 'personal_access_token', 'private_token', 'deploy_token'],
  ...['private_key', 'ssh_key', 'ssh_private_key', 'rsa_private_key', 'pem', 'credential', 'credentials'],
  ...['connection_string', 'database_url', 'redis_url', 'service_account_key', 'github_token', 'gitlab_token'],
  ...['slack_token', 'npm_token', 'hf_token', 'openai_api_key', 'anthropic_api_key', 'azure_openai_api_key'],
  ...['google_api_key', 'gemini_api_key', 'mistral_api_key', 'cohere_api_key', 'groq_api_key', 'xai_api_key'],
  ...['deepseek_api_key', 'stripe_api_key', 'stripe_secret_key', 'sendgrid_api_key', 'twilio_auth_token'],
];

/** Ends of attribute names that hold an identifier. @see Interface specification, "OTLP attribute mapping" */
const identifierNames: Record<HashableIdentifier, readonly string[]> = {
  user_id: ['user_id', 'enduser.id', 'llm.user', 'gen_ai.user', 'gen_ai.request.user'],
  session_id: ['session_id', 'conversation_id'],
  thread_id: ['thread_id'],
  request_id: ['request_id'],
  resource_id: ['resource_id'],
};

const foldSegment = (segment: string): string => segment.toLowerCase().replaceAll(/[-_]/g, '');
const foldKey = (key: string): string => key.split('.').map(foldSegment).join('');

const LIST_INDEX = /^\d+$/;

/** Of a longer key the end is judged: the name of the value is there, and no path is that long. */
const MAX_JUDGED_KEY_LENGTH = 256;
const MAX_REMEMBERED_KEYS = 16_384;

/**
 * Builds the rule that names are judged by. Letters match in either case; `-`, `_` and `.` count for nothing, so that
 * `client_secret`, `Client-Secret` and `clientSecret` are one name. A name matches whole: `token` is not `token_count`.
 *
 * A dotted key is the path that a value was flattened from. It matches whole or by its last segments, which name the value:
 * `http.request.header.authorization` by `authorization`, `order.card.number` by `card_number`. A last segment that is the index
 * of a list names nothing (`headers.set-cookie.0`). A member of nested JSON is judged by its own name alone, in the same way:
 * what is dotted there is a dump of attributes.
 * @see Interface decisions, "12. Decided since", "Redaction"
 */
export const createKeyRule = (
  redactedKeys: readonly string[],
  identifiers: readonly HashableIdentifier[],
): ((key: string) => KeyVerdict) => {
  const redacted = new Set([...defaultRedactedKeys, ...redactedKeys].map(foldKey).filter((name) => name !== ''));
  const hashed = new Map(identifiers.flatMap((field) => identifierNames[field].map((name) => [foldKey(name), field])));
  const longest = Math.max(...[...redacted, ...hashed.keys()].map((name) => name.length));

  const judge = (key: string): KeyVerdict => {
    const segments = key
      .split('.')
      .map(foldSegment)
      .filter((segment) => segment !== '');
    while (segments.length > 1 && LIST_INDEX.test(segments.at(-1) ?? '')) segments.pop();
    let end = '';
    let identifier: HashableIdentifier | undefined;
    for (const segment of segments.toReversed()) {
      end = segment + end;
      if (end.length > longest) break;
      if (redacted.has(end)) return 'redact';
      identifier ??= hashed.get(end);
    }
    return identifier ?? 'keep';
  };

  // Senders repeat the same few names. The memory is bounded because they need not.
  let remembered = new Map<string, KeyVerdict>();
  return (name) => {
    const key = name.slice(-MAX_JUDGED_KEY_LENGTH);
    // To judge a plain word takes less than to keep hundreds of thousands of them.
    if (!key.includes('.') && !key.includes('_') && !key.includes('-')) {
      if (key.length > longest) return 'keep';
      const word = key.toLowerCase();
      return redacted.has(word) ? 'redact' : (hashed.get(word) ?? 'keep');
    }
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const verdict = judge(key);
    if (remembered.size >= MAX_REMEMBERED_KEYS) remembered = new Map();
    remembered.set(detached(key), verdict);
    return verdict;
  };
};
