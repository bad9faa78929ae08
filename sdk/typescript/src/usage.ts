import type { ReportedUsage, Usage } from './generated/wire.ts';

const sum = (left: number | undefined, right: number | undefined): number | undefined =>
  left === undefined ? right : right === undefined ? left : left + right;

type Counts = { readonly [name: string]: unknown };

const sumAll = (left: Counts, right: Counts): Counts => {
  const total: Record<string, unknown> = { ...left };
  for (const [key, value] of Object.entries(right)) {
    const before = total[key];
    if (typeof value === 'number') total[key] = sum(typeof before === 'number' ? before : undefined, value);
    else if (value !== null && typeof value === 'object')
      total[key] = sumAll((before ?? {}) as Counts, value as Counts);
    else total[key] = before ?? value;
  }
  return total;
};

/**
 * Adds up usage by model. A count that nobody gave stays absent: unknown is not zero.
 */
export const createUsageTotals = () => {
  const byModel = new Map<string | undefined, ReportedUsage>();
  return {
    add: (model: string | undefined, usage: Usage): void => {
      byModel.set(model, sumAll(byModel.get(model) ?? {}, usage));
    },
    list: (): ReportedUsage[] =>
      [...byModel].map(([model, usage]) => ({ ...(model === undefined ? {} : { model }), ...usage })),
  };
};
