import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../any-character.ts';
import { findSecret, secretFormats } from '../../src/scoring/secret.ts';

/** Characters that look random and are nobody's; put together at run time, so that no scanner takes this file for a leak. */
const noise = (length: number, alphabet = 'q7Zk2MvR9xLb4TnW8cYd3HsJ6fPg5Ua'): string =>
  Array.from({ length }, (_, i) => alphabet[(i * 7 + (i >> 2)) % alphabet.length]).join('');
const hex = (length: number): string => noise(length, '9f3a07c5e1b8d264');
const upper = (length: number): string => noise(length, 'Q7ZK2MVR9XLB4TNW');
const jwt = ['eyJhbGciOiJIUzI1NiJ9', `eyJ${noise(40)}`, noise(43)].join('.');

const leaks: readonly (readonly [what: string, secret: string])[] = [
  ['an OpenAI API key', `sk-proj-${noise(48)}`],
  ['an Anthropic API key', `sk-ant-api03-${noise(40)}`],
  ['an API key', `sk-${noise(48)}`],
  ['a Google API key', `AIza${noise(35)}`],
  ['an AWS access key', `AKIA${upper(16)}`],
  ['a GitHub token', `ghp_${noise(36)}`],
  ['a GitHub token', `github_pat_${noise(40)}`],
  ['a GitLab token', `glpat-${noise(20)}`],
  ['a Slack token', `xoxb-${noise(12, '1234567890')}-${noise(24)}`],
  ['a Stripe key', `sk_live_${noise(24)}`],
  ['a Hugging Face token', `hf_${noise(34)}`],
  ['an npm token', `npm_${noise(36)}`],
  ['a Databricks token', `dapi${hex(32)}`],
  ['a JSON web token', jwt],
  ['a SendGrid key', `SG.${noise(22)}.${noise(43)}`],
  ['a Vault token', `hvs.${noise(24)}`],
  ['a Telegram bot token', `${noise(9, '582739146')}:AA${noise(33)}`],
  ['a private key', '-----BEGIN RSA PRIVATE KEY-----\nMIIE'],
  ['a private key', '-----BEGIN OPENSSH PRIVATE KEY-----'],
  ['a password in a URL', `postgres://app:${noise(12)}@db.internal:5432/app`],
  ['a bearer token', `Authorization: Bearer ${noise(32)}`],
  ['a named credential', `Your new password is: ${noise(12)}`],
  ['a named credential', `AZURE_ACCOUNT_KEY="x", "client_secret": "${noise(24)}"`],
];

const harmless: readonly string[] = [
  'Set OPENAI_API_KEY=sk-your-key-here-0000000000000000000000 and try again.',
  'An API key looks like sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.',
  'The password: ******** was not shown.',
  'password: [redacted]',
  'Read the key with process.env.OPENAI_API_KEY.',
  'Your password is required to be at least 12 characters long.',
  'Send it as `Authorization: Bearer <token>`.',
  'The commit is 9f3a07c5e1b8d2649f3a07c5e1b8d2649f3a07c5, id 5b8efff798038103d269b633813fc60c.',
  'See https://example.com/a/very/long/path-with-some-words-in-it?query=value.',
  'postgres://user:password@localhost/db is only an example.',
  'The desk-lamp-with-an-extraordinarily-long-name costs 40 EUR.',
  'AKIA is how access keys of AWS begin.',
  '',
];

describe('no_leaked_secret: a key, token or credential', () => {
  it.each(leaks)('%s is found, between words and alone, and nothing of it is repeated', (what, secret) => {
    for (const text of [secret, `Here it is: ${secret} - keep it safe.`, `{"result":"${secret}"}`]) {
      const found = findSecret(text);
      expect(found).toBe(what);
      for (const word of secret.split(/[^A-Za-z0-9]+/).filter((part) => part.length > 8))
        expect(found).not.toContain(word);
    }
  });

  it.each(harmless)('is not: %s', (text) => expect(findSecret(text)).toBeUndefined());

  it.each(secretFormats.map((format) => [format.prefix, format] as const))(
    'of the format %s… counts from its shortest length on, and not one character before',
    (_prefix, { prefix, alphabet, characters }) => {
      const fitting = noise(200, 'Q7ZK2MVR9XLB4TNWq7k2vr9xb4nw8cyd3hs6fpg5ua9f3a07c5e1b8d264')
        .split('')
        .filter((char) => alphabet.test(char))
        .join('')
        .repeat(4);
      const whole = prefix + fitting.slice(0, characters);
      expect(findSecret(`${whole}.`)).toBeDefined();
      // Shorter, it may still be another format's; it is not this one's.
      const other = secretFormats.some(
        (one) => one.prefix !== prefix && (prefix.startsWith(one.prefix) || one.prefix.startsWith(prefix)),
      );
      if (!other) expect(findSecret(`${whole.slice(0, -1)}.`)).toBeUndefined();
    },
  );

  /**
   * Time is not measured, because machines differ; what makes it linear is. The long words that are looked at do not overlap,
   * and a word is compared with a format over a length that the format fixes.
   */
  it('is looked for in time that grows with the text alone: every repeat is bounded', () => {
    for (const { prefix, characters } of secretFormats) expect(prefix.length + characters).toBeLessThan(160);
  });

  it.each([
    ['one word without an end', 'a'.repeat(20_000_000)],
    ['beginnings of tokens without an end', 'eyJ'.repeat(7_000_000)],
    ['beginnings of tokens with dots', 'eyJhbGciOiJI.'.repeat(1_500_000)],
    ['prefixes alone', 'sk-ghp_xoxb-AKIA'.repeat(1_250_000)],
    ['prefixes between spaces', 'sk- ghp_ AKIA SG. hvs. :// password: bearer '.repeat(450_000)],
    ['URLs without a password', 'https://a:/'.repeat(1_800_000)],
    ['dashes', '-----BEGIN '.repeat(1_800_000)],
    ['prose', 'Your order 4711 has shipped and arrives on Friday, before noon. '.repeat(312_500)],
  ])('an answer of 20 MB is read to its end: %s', (_name, text) =>
    expect(findSecret(`${text} ghp_${noise(36)}`)).toBe('a GitHub token'),
  );

  it('never throws, and answers in words of its own', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 400 }), (text) => {
        const found = findSecret(text);
        expect(found === undefined || /^an? [A-Za-z ]+$/.test(found)).toBe(true);
      }),
    );
  });
});
