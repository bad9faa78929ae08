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

/** Of a longer key the end is judged: the name of the value is there, and no path is that long. */
const MAX_JUDGED_KEY_LENGTH = 256;

const DOT = 0x2e;
const LAST_ASCII = 0x7f;

const isIgnored = (code: number): boolean => code === 0x2d || code === 0x5f;
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const lowerCase = (code: number): number => (code >= 0x41 && code <= 0x5a ? code + 0x20 : code);

/** Names by their letters, from the last one: a key is judged from its end, no further than names go, and nothing is copied. */
type Ending = { readonly before: Map<number, Ending>; verdict?: Exclude<KeyVerdict, 'keep'> };

const addName = (endings: Ending, name: string, verdict: Exclude<KeyVerdict, 'keep'>): void => {
  let ending = endings;
  for (let at = name.length - 1; at >= 0; at -= 1) {
    const code = name.charCodeAt(at);
    let longer = ending.before.get(code);
    if (longer === undefined) {
      longer = { before: new Map() };
      ending.before.set(code, longer);
    }
    ending = longer;
  }
  ending.verdict = verdict;
};

/** The ending with a text before it, where a name has it. */
const endingWith = (text: string, behind: Ending): Ending | undefined => {
  let ending: Ending | undefined = behind;
  for (let at = text.length - 1; at >= 0 && ending !== undefined; at -= 1)
    ending = ending.before.get(text.charCodeAt(at));
  return ending;
};

/** Where the last segment ends that names something. Indexes of lists come behind it; where there are only such, it is the first. */
const endOfNames = (key: string): number => {
  let firstIndexEnd = 0;
  let end = key.length;
  let isIndex = false;
  for (let at = end; ; at -= 1) {
    const code = at > 0 ? key.charCodeAt(at - 1) : DOT;
    if (code === DOT) {
      if (isIndex) firstIndexEnd = end;
      if (at === 0) return firstIndexEnd;
      end = at - 1;
      isIndex = false;
    } else if (isDigit(code)) isIndex = true;
    else if (!isIgnored(code)) return end;
  }
};

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
  const endings: Ending = { before: new Map() };
  for (const field of identifiers) for (const name of identifierNames[field]) addName(endings, foldKey(name), field);
  for (const name of [...defaultRedactedKeys, ...redactedKeys].map(foldKey))
    if (name !== '') addName(endings, name, 'redact');

  return (name) => {
    const key = name.length > MAX_JUDGED_KEY_LENGTH ? name.slice(-MAX_JUDGED_KEY_LENGTH) : name;
    let identifier: HashableIdentifier | undefined;
    let ending = endings;
    let segmentEnd = endOfNames(key);
    let behindSegment = ending;
    for (let at = segmentEnd; ; at -= 1) {
      const code = at > 0 ? key.charCodeAt(at - 1) : DOT;
      if (isIgnored(code)) continue;
      if (code === DOT) {
        if (ending.verdict === 'redact') return 'redact';
        identifier ??= ending.verdict;
        if (at === 0) break;
        segmentEnd = at - 1;
        behindSegment = ending;
        continue;
      }
      let longer: Ending | undefined;
      if (code <= LAST_ASCII) longer = ending.before.get(lowerCase(code));
      else {
        // How a letter is lowered may depend on those beside it: the segment is read again, as a whole.
        const start = key.lastIndexOf('.', at - 1) + 1;
        longer = endingWith(foldSegment(key.slice(start, segmentEnd)), behindSegment);
        at = start + 1;
      }
      if (longer === undefined) break;
      ending = longer;
    }
    return identifier ?? 'keep';
  };
};
