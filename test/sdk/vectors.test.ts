import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isSampled, parseTraceparent, timestamp } from '../../sdk/typescript/src/recorder.ts';
import { backoffMs } from '../../sdk/typescript/src/retry.ts';
import { readSettings } from '../../sdk/typescript/src/settings.ts';
import { retryAfterOf } from '../../sdk/typescript/src/transport.ts';

type Cases<Case> = { readonly cases: readonly Case[] };
/** A table that the libraries of all languages run. */
const vectors = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../sdk/conformance/vectors/${name}.json`, import.meta.url), 'utf8'));

describe('the vectors that all libraries share', () => {
  it('sampling: a trace is kept by the low 56 bits of its id', () => {
    const { fractions, cases } = vectors('sampling') as Cases<{ trace_id: string; kept: readonly boolean[] }> & {
      fractions: readonly number[];
    };
    expect(cases.length).toBeGreaterThan(4);
    for (const { trace_id: traceId, kept } of cases)
      expect([traceId, ...fractions.map((fraction) => isSampled(traceId, fraction))]).toEqual([traceId, ...kept]);
  });

  it('traceparent: what is malformed starts a new trace', () => {
    const { cases } = vectors('traceparent') as Cases<{
      header: string;
      trace_id: string | null;
      span_id: string | null;
      why: string;
    }>;
    for (const { header, trace_id, span_id, why } of cases) {
      const read = parseTraceparent(header);
      expect([why, read?.traceId ?? null, read?.spanId ?? null]).toEqual([why, trace_id, span_id]);
    }
  });

  it('settings: code wins, empty is absent, and a bad value is named and replaced', () => {
    type Named = { readonly [name: string]: string | number | boolean | null };
    const { cases } = vectors('settings') as Cases<{
      why: string;
      env: Record<string, string>;
      code: Named;
      settings: Named;
      problems: readonly string[];
    }>;
    for (const { why, env, code, settings, problems } of cases) {
      const camel = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
      const given = Object.fromEntries(Object.entries(code).map(([name, value]) => [camel(name), value]));
      const { problems: named, ...read } = readSettings(given, env);
      const expected = Object.entries(settings).map(([name, value]) => [camel(name), value ?? undefined]);
      expect({ why, ...read }).toEqual({ why, ...Object.fromEntries(expected) });
      expect([why, ...named.map((problem) => problem.split(' ')[0])]).toEqual([why, ...problems]);
    }
  });

  it('Retry-After: seconds or a date, and anything else says nothing', () => {
    const { cases } = vectors('retry-after') as Cases<{ header: string | null; now: string; wait_ms: number | null }>;
    for (const { header, now, wait_ms } of cases)
      expect([header, retryAfterOf(header ?? undefined, Date.parse(now)) ?? null]).toEqual([header, wait_ms]);
  });

  it('backoff: a wait lies between its bounds, and reaches them', () => {
    type Bounds = { base_ms: number; max_ms: number; attempt: number; least_ms: number; most_ms: number };
    const { cases } = vectors('backoff') as Cases<Bounds>;
    for (const { base_ms: baseMs, max_ms: maxMs, attempt, least_ms, most_ms } of cases) {
      const policy = { attempts: 1, baseMs, maxMs };
      expect([attempt, backoffMs(policy, attempt, () => 0), backoffMs(policy, attempt, () => 1)]).toEqual([
        ...[attempt, least_ms, most_ms],
      ]);
    }
  });

  it('timestamps: this clock counts microseconds, and every spelling of an instant is read alike', () => {
    const { cases } = vectors('timestamps') as Cases<{ epoch_ns: string; text: string; read: readonly string[] }>;
    for (const { epoch_ns: epochNs, text, read } of cases) {
      const micros = BigInt(epochNs) / 1000n;
      const written = timestamp(Number(micros / 1000n) + Number(micros % 1000n) / 1000);
      const fraction = /\.(\d+)Z$/.exec(text)?.[1] ?? '';
      // Half a microsecond is lost in a double of milliseconds.
      const exact = text.replace(/\.\d+Z$/, `.${fraction.padEnd(6, '0').slice(0, 6)}Z`);
      expect(Math.abs(Date.parse(written) - Date.parse(exact))).toBeLessThan(1);
      expect(Math.abs(Number(/\.(\d{6})Z$/.exec(written)?.[1]) - Number(/\.(\d{6})Z$/.exec(exact)?.[1]))).toBeLessThan(
        2,
      );
      for (const other of read) expect([other, Date.parse(other)]).toEqual([other, Date.parse(text)]);
    }
  });
});
