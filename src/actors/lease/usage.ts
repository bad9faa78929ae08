import type { UsageDelta } from '../../machines/run.ts';
import type { ReportedUsage } from '../../model/run.ts';
import type { Cost } from '../../model/span.ts';

/** Tokens and money of a report. Money is counted where it is known, and stays unknown where none is. */
export const countUsage = (
  usage: readonly ReportedUsage[] | undefined,
  price: (usage: ReportedUsage) => Cost | undefined,
): { readonly delta: UsageDelta; readonly cost?: Cost } | undefined => {
  if (usage === undefined || usage.length === 0) return undefined;
  let inputTokens = 0;
  let outputTokens = 0;
  let totalTokens = 0;
  let total: Cost | undefined;
  for (const report of usage) {
    const input = report.inputTokens ?? 0;
    const output = report.outputTokens ?? 0;
    inputTokens += input;
    outputTokens += output;
    totalTokens += report.totalTokens ?? input + output;
    const cost: Cost | undefined =
      report.cost === undefined ? price(report) : { totalCost: report.cost, currency: 'USD', isEstimated: false };
    if (cost === undefined) continue;
    total = {
      ...cost,
      totalCost: (total?.totalCost ?? 0) + cost.totalCost,
      isEstimated: cost.isEstimated || total?.isEstimated === true,
    };
  }
  const delta = { inputTokens, outputTokens, totalTokens };
  return total === undefined
    ? { delta }
    : { delta: { ...delta, cost: total.totalCost }, cost: usage.length === 1 ? total : withoutSplit(total) };
};
/** The split of one report says nothing about the sum of several. */
const withoutSplit = ({ totalCost, currency, isEstimated, priceBookId }: Cost): Cost => ({
  totalCost,
  currency,
  isEstimated,
  ...(priceBookId === undefined ? {} : { priceBookId }),
});
