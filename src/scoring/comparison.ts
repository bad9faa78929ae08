import { canonicalJson } from '../model/canonical-json.ts';
import type { Json } from '../model/json.ts';
import { payloadText } from '../model/signal.ts';
import type { Answer } from './answer.ts';
import type { ScorerConfig } from './config.ts';

/** How texts are compared: without the white space around them, composed alike, and in any case unless asked otherwise. */
export const comparable = (text: string, { case_sensitive }: Pick<ScorerConfig, 'case_sensitive'>): string => {
  const trimmed = text.normalize('NFC').trim();
  return case_sensitive === true ? trimmed : trimmed.toLowerCase();
};

/** @returns `undefined` for a text that is no JSON */
export const parsed = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};

/** A value as data, where it is data: not a text in words. */
const asData = (value: Json): Json | undefined => {
  if (typeof value !== 'string') return value;
  const first = value.trimStart()[0];
  return first === '{' || first === '[' ? parsed(value) : undefined;
};

/** The answer that runs should give. What answers are compared with is made once, however many they are. */
export class ExpectedAnswer {
  readonly value: Json;
  private readonly config: Pick<ScorerConfig, 'case_sensitive'>;
  private comparableText: string | undefined;
  private comparableData: string | false | undefined;

  constructor(value: Json, config: Pick<ScorerConfig, 'case_sensitive'>) {
    this.value = value;
    this.config = config;
  }

  private comparableOf(data: Json): string {
    return comparable(canonicalJson(data), this.config);
  }

  /** As a text that an answer may contain. */
  text(): string {
    this.comparableText ??= comparable(payloadText(this.value), this.config);
    return this.comparableText;
  }

  /** As data in one spelling; false for a text in words. */
  private data(): string | false {
    if (this.comparableData === undefined) {
      const data = asData(this.value);
      this.comparableData = data === undefined ? false : this.comparableOf(data);
    }
    return this.comparableData;
  }

  equals({ text, payload }: Answer): boolean {
    if (comparable(text, this.config) === this.text()) return true;
    const wanted = this.data();
    if (wanted === false) return false;
    // `42` may be answered as a number or as its digits; an object in any order of its keys.
    const given = typeof payload === 'string' ? parsed(text) : payload;
    return (
      given !== undefined &&
      [given, parsed(text)].some((value) => value !== undefined && this.comparableOf(value) === wanted)
    );
  }
}

/** A configuration whose texts are ready to be compared with, for all runs of a request. */
export type PreparedConfig = Omit<ScorerConfig, 'expected' | 'contains'> & {
  readonly expected?: ExpectedAnswer;
  readonly contains?: readonly string[];
};

export const prepareConfig = ({ expected, contains, ...rest }: ScorerConfig): PreparedConfig => ({
  ...rest,
  ...(expected === undefined ? {} : { expected: new ExpectedAnswer(expected, rest) }),
  ...(contains === undefined ? {} : { contains: [contains].flat().map((part) => comparable(part, rest)) }),
});
