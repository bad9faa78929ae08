import { describe, expect, it } from 'vitest';
import { compileDefinition } from '../../../src/model/definition/compile.ts';
import { aDocument, faultsOf, parsed } from './a-definition.ts';

const concurrency = (over: object = {}) => ({ key: 'customer/${input.customer}', limit: 1, ...over });
const rate = (over: object = {}) => ({ key: 'provider', limit: 10, per_ms: 1000, ...over });
const onTask = (over: object) => aDocument({ steps: [{ id: 'work', kind: 'task', ...over }] });

describe('the keys of a definition and of a task', () => {
  it('queue where they do not say what happens at the limit', () => {
    const definition = parsed(aDocument({ concurrency: concurrency(), rate: rate() }));
    expect(definition.concurrency).toEqual({ key: 'customer/${input.customer}', limit: 1, onLimit: 'queue' });
    expect(definition.rate).toEqual({ key: 'provider', limit: 10, perMs: 1000 });
    const [work] = parsed(onTask({ concurrency: concurrency({ on_limit: 'reject' }), rate: rate() })).steps;
    expect(work).toMatchObject({
      concurrency: { key: 'customer/${input.customer}', limit: 1, onLimit: 'reject' },
      rate: { key: 'provider', limit: 10, perMs: 1000 },
    });
  });

  it('are compiled where there are some, and leave nothing behind where there are none', () => {
    const keyed = compileDefinition(parsed(onTask({ concurrency: concurrency(), rate: rate() })));
    expect(keyed.first.concurrencyKey?.reads).toEqual([['input', 'customer']]);
    expect(keyed.first.rateKey?.reads).toEqual([]);
    expect(keyed).not.toHaveProperty('concurrencyKey');
    expect(compileDefinition(parsed(aDocument({ rate: rate() }))).rateKey).toBeDefined();
    expect(compileDefinition(parsed(aDocument())).first).not.toHaveProperty('concurrencyKey');
  });

  it.each([
    ['a limit of 0', { concurrency: concurrency({ limit: 0 }) }, 'concurrency.limit: must be 1 or more, not 0'],
    ['a limit over 10,000', { rate: rate({ limit: 10_001 }) }, 'rate.limit: must be 10000 or less, not 10001'],
    ['a window of no length', { rate: rate({ per_ms: 0 }) }, 'rate.per_ms: must be 1 or more, not 0'],
    [
      'a window over 31 days',
      { rate: rate({ per_ms: 2_678_400_001 }) },
      'rate.per_ms: must be 2678400000 or less, not 2678400001',
    ],
    ['an unknown way', { concurrency: concurrency({ on_limit: 'drop' }) }, 'concurrency.on_limit: must be one of'],
    ['a rate without a window', { rate: { key: 'a', limit: 1 } }, 'rate.per_ms: is required'],
    [
      'an empty key',
      { concurrency: concurrency({ key: '' }) },
      'concurrency.key: must have at least 1 character, and has 0',
    ],
    [
      'a key over 1,024 characters',
      { concurrency: concurrency({ key: 'k'.repeat(1025) }) },
      'concurrency.key: must have at most 1024 characters, and has 1025',
    ],
    [
      'a key that reads what the run has yet to do',
      { concurrency: concurrency({ key: '${state.customer}' }) },
      'concurrency.key: ${state.customer} is not readable in a key: it reads input and correlation',
    ],
    ['a key that is no template', { rate: rate({ key: '${input' }) }, 'rate.key: '],
  ])('are refused for %s, by its path', (_what, over, fault) => {
    const [found, ...others] = faultsOf(aDocument(over));
    expect(found).toContain(fault);
    expect(others).toEqual([]);
    expect(faultsOf(onTask(over))[0]).toContain(`steps[0].${fault}`);
  });

  it('are taken at their bounds', () => {
    const widest = {
      concurrency: concurrency({ limit: 10_000, key: 'k'.repeat(1024) }),
      rate: rate({ limit: 1, per_ms: 2_678_400_000, key: '${correlation.user_id}' }),
    };
    expect(faultsOf(aDocument(widest))).toEqual([]);
    expect(
      faultsOf(onTask({ concurrency: concurrency({ limit: 1 }), rate: rate({ limit: 10_000, per_ms: 1 }) })),
    ).toEqual([]);
  });

  it('cancel the oldest run of a definition, and never a step', () => {
    const cancels = { concurrency: concurrency({ on_limit: 'cancel_oldest' }) };
    expect(faultsOf(aDocument(cancels))).toEqual([]);
    expect(faultsOf(onTask(cancels))).toEqual([
      'steps[0].concurrency.on_limit: cancel_oldest is not for a task: it cancels runs, and a step cannot be cancelled alone',
    ]);
  });
});
