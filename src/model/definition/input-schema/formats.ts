import { fullFormats } from 'ajv-formats/dist/formats.js';
import type { Json } from '../../json.ts';
import { compilePattern, type Pattern } from './pattern.ts';

/** Whether a value has a format; one of another type has every format. */
export type Format = {
  readonly has: (value: Json) => boolean;
  /** What a character of a text may cost, in steps. */
  readonly stepsPerCharacter: number;
};

type TextRules = {
  /** Where the format itself bounds its texts: a longer one is not looked at. */
  readonly mostCharacters?: number;
  readonly also?: (text: string) => boolean;
  readonly stepsPerCharacter?: number;
};

const ofText = (
  has: (text: string) => boolean,
  { mostCharacters = Number.POSITIVE_INFINITY, also = () => true, stepsPerCharacter = 1 }: TextRules = {},
): Format => ({
  has: (value) => typeof value !== 'string' || (value.length <= mostCharacters && has(value) && also(value)),
  stepsPerCharacter,
});
const ofNumber = (has: (value: number) => boolean): Format => ({
  has: (value) => typeof value !== 'number' || has(value),
  stepsPerCharacter: 0,
});
const anything: Format = { has: () => true, stepsPerCharacter: 0 };

/** A pattern in the syntax of schemas, compiled at its first use: some take milliseconds. */
const linear = (source: string, letterCase: 'either case' | 'as written', rules: TextRules = {}): Format => {
  let pattern: Pattern | undefined;
  const compiled = (): Pattern => {
    const made = compilePattern(source, letterCase);
    if (!made.ok) throw new Error(made.message);
    return made.value;
  };
  return ofText((text) => (pattern ??= compiled()).test(text), { stepsPerCharacter: 8, ...rules });
};

/** A format of `ajv-formats` that is a pattern, without the escapes that the flag `u` refuses. */
const patternOf = (name: keyof typeof fullFormats, rules: TextRules = {}): Format => {
  const format = fullFormats[name];
  if (!(format instanceof RegExp)) throw new Error(`format ${name} is not a pattern`);
  const source = format.source.replaceAll('\\-', '\\x2d').replaceAll('\\_', '_');
  return linear(source, format.ignoreCase ? 'either case' : 'as written', rules);
};

/** A format of `ajv-formats` that is a function, whose time is linear in the text. */
const functionOf = (name: keyof typeof fullFormats, rules: TextRules = {}): Format => {
  const format = fullFormats[name];
  const validate = typeof format === 'object' && 'validate' in format ? format.validate : format;
  if (typeof validate !== 'function') throw new Error(`format ${name} is not a function`);
  return ofText(validate as (text: string) => boolean, rules);
};

/** Hundreds of digits of a second. */
const time: TextRules = { mostCharacters: 256 };
/** `0000:0000:0000:0000:0000:ffff:255.255.255.255`; `urn:uuid:` and 36 characters. */
const address: TextRules = { mostCharacters: 45 };
/** @see RFC 5321, section 4.5.3.1 */
const mail: TextRules = { mostCharacters: 64 + 1 + 255 };
const DATE_UNITS = '(?:\\d+Y(?:\\d+M)?(?:\\d+D)?|\\d+M(?:\\d+D)?|\\d+D)';
const TIME_UNITS = 'T(?:\\d+H(?:\\d+M)?(?:\\d+S)?|\\d+M(?:\\d+S)?|\\d+S)';
const LABEL = '[a-z0-9](?:[a-z0-9\\x2d]{0,61}[a-z0-9])?';
/** 253 characters, and the dot at the end. @see RFC 1123, section 2.1 */
const hostName: TextRules = { mostCharacters: 254, also: (text) => text.length < 254 || text.endsWith('.') };

const isUrl = (text: string): boolean => /^(?:https?|ftp):\/\//i.test(text) && !/\s/.test(text) && URL.canParse(text);
const isInteger32 = (value: number): boolean => Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31;

/**
 * Formats that an input schema may name: those of `ajv-formats`, each checked in time that is linear in the text. Its own patterns
 * for some (`url`) take quadratic time, and some (`duration`, `hostname`) look ahead.
 */
export const formats: ReadonlyMap<string, Format> = new Map(
  Object.entries({
    date: functionOf('date', time),
    time: functionOf('time', time),
    'date-time': functionOf('date-time', time),
    'iso-time': functionOf('iso-time', time),
    'iso-date-time': functionOf('iso-date-time', time),
    duration: linear(`^P(?:${DATE_UNITS}(?:${TIME_UNITS})?|${TIME_UNITS}|\\d+W)$`, 'as written'),
    uri: patternOf('uri-reference', { also: (text) => /^[a-z][a-z0-9+.-]*:/i.test(text) }),
    'uri-reference': patternOf('uri-reference'),
    'uri-template': patternOf('uri-template'),
    url: ofText(isUrl),
    email: patternOf('email', mail),
    hostname: linear(`^${LABEL}(?:\\.${LABEL})*\\.?$`, 'either case', hostName),
    ipv4: patternOf('ipv4', address),
    ipv6: patternOf('ipv6', address),
    regex: functionOf('regex'),
    uuid: patternOf('uuid', address),
    'json-pointer': patternOf('json-pointer'),
    'json-pointer-uri-fragment': patternOf('json-pointer-uri-fragment'),
    'relative-json-pointer': patternOf('relative-json-pointer'),
    byte: linear('^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$', 'as written', {
      stepsPerCharacter: 2,
    }),
    int32: ofNumber(isInteger32),
    int64: ofNumber(Number.isInteger),
    float: anything,
    double: anything,
    password: anything,
    binary: anything,
  }),
);
