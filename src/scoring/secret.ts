/**
 * How a provider spells a credential: it begins with `prefix`, and at least `characters` of `alphabet` follow. Each is looked
 * at where a word begins, and no further than its shortest length, so the work on a text grows with the text alone.
 */
type SecretFormat = {
  readonly what: string;
  readonly prefix: string;
  readonly alphabet: RegExp;
  readonly characters: number;
};

const WORD = /[A-Za-z0-9_-]/;
const ALPHANUMERIC = /[A-Za-z0-9]/;
const UPPER = /[A-Z0-9]/;
const HEX = /[0-9a-f]/;

const format = (what: string, prefix: string, characters: number, alphabet: RegExp = ALPHANUMERIC): SecretFormat => ({
  what,
  prefix,
  alphabet,
  characters,
});

/** Published formats of credentials. */
export const secretFormats: readonly SecretFormat[] = [
  format('an Anthropic API key', 'sk-ant-', 20, WORD),
  format('an OpenAI API key', 'sk-proj-', 20, WORD),
  format('an OpenAI API key', 'sk-svcacct-', 20, WORD),
  format('an OpenRouter API key', 'sk-or-v1-', 32),
  format('an API key', 'sk-', 20),
  format('a Google API key', 'AIza', 35, WORD),
  format('a Google OAuth secret', 'GOCSPX-', 20, WORD),
  format('a Groq API key', 'gsk_', 32),
  format('an xAI API key', 'xai-', 40),
  format('a Hugging Face token', 'hf_', 30),
  format('a Replicate token', 'r8_', 30),
  format('a Perplexity API key', 'pplx-', 32),
  format('an AWS access key', 'AKIA', 16, UPPER),
  format('an AWS access key', 'ASIA', 16, UPPER),
  format('an AWS Bedrock key', 'ABSK', 100),
  format('a GitHub token', 'ghp_', 36),
  format('a GitHub token', 'gho_', 36),
  format('a GitHub token', 'ghu_', 36),
  format('a GitHub token', 'ghs_', 36),
  format('a GitHub token', 'ghr_', 36),
  format('a GitHub token', 'github_pat_', 22, WORD),
  format('a GitLab token', 'glpat-', 20, WORD),
  format('a Slack token', 'xoxb-', 20, WORD),
  format('a Slack token', 'xoxp-', 20, WORD),
  format('a Slack token', 'xoxa-', 20, WORD),
  format('a Slack token', 'xoxr-', 20, WORD),
  format('a Slack token', 'xoxs-', 20, WORD),
  format('a Slack token', 'xapp-', 20, WORD),
  format('a Stripe key', 'sk_live_', 16),
  format('a Stripe key', 'rk_live_', 16),
  format('a Stripe key', 'sk_test_', 16),
  format('a Stripe webhook secret', 'whsec_', 24),
  format('an npm token', 'npm_', 36),
  format('a PyPI token', 'pypi-AgEI', 40, WORD),
  format('a Docker token', 'dckr_pat_', 20, WORD),
  format('a Twilio key', 'SK', 32, HEX),
  format('a DigitalOcean token', 'dop_v1_', 64, HEX),
  format('a Shopify token', 'shpat_', 32, HEX),
  format('a Databricks token', 'dapi', 32, HEX),
  format('an Atlassian token', 'ATATT3', 40, WORD),
  format('a Linear key', 'lin_api_', 32),
  format('a Notion token', 'ntn_', 40),
  format('a Mailgun key', 'key-', 32, HEX),
  format('a Square token', 'sq0atp-', 22, WORD),
  format('a Square secret', 'sq0csp-', 40, WORD),
  format('an Airtable token', 'pat', 80, WORD),
  format('an age secret key', 'AGE-SECRET-KEY-1', 50, UPPER),
];

/** Formats by their first two characters, so that a word is compared with the few that it can be. */
const byStart = new Map<string, SecretFormat[]>();
for (const entry of secretFormats) {
  const start = entry.prefix.slice(0, 2);
  byStart.set(start, [...(byStart.get(start) ?? []), entry]);
}
const shortest = Math.min(...secretFormats.map(({ prefix, characters }) => prefix.length + characters));

const matches = (text: string, at: number, { prefix, alphabet, characters }: SecretFormat): boolean => {
  if (!text.startsWith(prefix, at)) return false;
  const from = at + prefix.length;
  for (let i = from; i < from + characters; i++) {
    const char = text[i];
    if (char === undefined || !alphabet.test(char)) return false;
  }
  return true;
};

/** Letters, digits, `-` and `_` by their character code: 1 where a word may begin with it, 2 where it may only go on. */
const wordClass = new Uint8Array(128);
for (let code = 0; code < 128; code++) {
  const char = String.fromCharCode(code);
  if (ALPHANUMERIC.test(char)) wordClass[code] = 1;
  else if (WORD.test(char)) wordClass[code] = 2;
}
const classAt = (text: string, at: number): number => wordClass[text.charCodeAt(at)] ?? 0;

/** Where the word that `at` is inside of ends. */
const endOfWord = (text: string, at: number): number => {
  let end = at;
  while (classAt(text, end) !== 0) end++;
  return end;
};

/**
 * Words long enough to be a credential, as their ends. They do not overlap, so each character belongs to one of them at the
 * most. Not a regular expression: the engine keeps a place for each character of a repeat, and has none left after millions.
 */
function* longWords(text: string): Generator<readonly [start: number, end: number]> {
  let at = 0;
  while (at < text.length) {
    if (classAt(text, at) !== 1) {
      at++;
      continue;
    }
    const end = endOfWord(text, at);
    if (end - at >= shortest) yield [at, end];
    at = end;
  }
}

const JWT_PART = 'eyJ';
const MIN_JWT_PART = 11;
const MIN_SIGNATURE = 8;

/** Whether a word is the first of the three parts of a JSON web token. */
const beginsJwt = (text: string, start: number, end: number): boolean => {
  if (!text.startsWith(JWT_PART, start) || text[end] !== '.' || !text.startsWith(JWT_PART, end + 1)) return false;
  const payloadEnd = endOfWord(text, end + 1);
  if (payloadEnd - end - 1 < MIN_JWT_PART || text[payloadEnd] !== '.') return false;
  for (let at = payloadEnd + 1; at <= payloadEnd + MIN_SIGNATURE; at++) if (classAt(text, at) === 0) return false;
  return true;
};

const SENDGRID = /SG\.[\w-]{16,32}\.[\w-]{32,64}/g;
const VAULT = /\bhv[sb]\.[\w-]{24}/;
const PRIVATE_KEY = /-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/;
const TELEGRAM = /\b\d{8,10}:AA[\w-]{33}/;
const BEARER = /\b[Bb]earer [A-Za-z0-9._~+/-]{24}/;
/** A password inside of a URL: at most so many characters of user and password are read. */
const URL_PASSWORD = /:\/\/[^\s:@/]{0,64}:([^\s:@/]{3,128})@/g;
/** A credential that its name announces. */
const NAMED =
  /(?:password|passwd|passphrase|secret[_ -]?key|client[_ -]?secret|api[_ -]?key|api[_ -]?token|access[_ -]?token|auth[_ -]?token|account[_ -]?key|secret[_ -]?access[_ -]?key)["'`*]{0,3}(?:\s{0,3}(?:is|[:=]|=>)){1,2}\s{0,3}["'`*]{0,3}([^\s"'`*,;<>{}[\]()]{8,64})/gi;
const PLACEHOLDER = /your|example|sample|dummy|placeholder|redacted|changeme|x{4}|\*{3}|\.{3}|123456|environ|getenv/i;

/** Random enough to be no word, no variable and no path. */
const looksRandom = (value: string): boolean =>
  /\d/.test(value) && /[A-Za-z]/.test(value) && !PLACEHOLDER.test(value) && !value.includes('://');

/** A made-up one of a manual: the same character again and again, or a word that says so. */
const isPlaceholder = (text: string, at: number): boolean => {
  const shown = text.slice(at, at + 40);
  return /(.)\1{7}/.test(shown) || /your|example|placeholder/i.test(shown);
};

/**
 * Looks for a key, token or credential.
 *
 * Time is linear in the length of the text, whatever it holds: words are cut out once and do not overlap, a word is compared up
 * to the shortest length of a format, and every other expression has bounded repeats or begins at a fixed text.
 * @returns what kind of credential it is, in words; never a character of it
 */
export const findSecret = (text: string): string | undefined => {
  for (const [start, end] of longWords(text)) {
    for (const entry of byStart.get(text.slice(start, start + 2)) ?? [])
      if (matches(text, start, entry) && !isPlaceholder(text, start + entry.prefix.length)) return entry.what;
    if (beginsJwt(text, start, end)) return 'a JSON web token';
  }
  if (PRIVATE_KEY.test(text)) return 'a private key';
  for (const { index } of text.matchAll(SENDGRID)) if (!isPlaceholder(text, index + 3)) return 'a SendGrid key';
  if (VAULT.test(text)) return 'a Vault token';
  if (TELEGRAM.test(text)) return 'a Telegram bot token';
  for (const [, password = ''] of text.matchAll(URL_PASSWORD))
    if (!PLACEHOLDER.test(password) && !/^(?:pass|password|pwd|secret)$/i.test(password)) return 'a password in a URL';
  for (const { 0: shown, index } of text.matchAll(new RegExp(BEARER, 'g')))
    if (looksRandom(shown.slice(7)) && !isPlaceholder(text, index + 7)) return 'a bearer token';
  for (const [, value = ''] of text.matchAll(NAMED)) if (looksRandom(value)) return 'a named credential';
  return undefined;
};
