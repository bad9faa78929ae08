import type { UsageDelta } from '../../machines/run.ts';
import { addUsage, moneyOf, noUsage, type ReportedUsage } from '../../model/run.ts';
import type { Cost } from '../../model/span.ts';

/** One entry of a report, with its price where that is known. */
export type PricedUsage = { readonly usage: ReportedUsage; readonly cost?: Cost };

/** Tokens and money of a report. Money is counted where it is known, and stays unknown where none is. */
export const countUsage = (
  usage: readonly ReportedUsage[] | undefined,
  price: (usage: ReportedUsage) => Cost | undefined,
): { readonly delta: UsageDelta; readonly cost?: Cost; readonly entries: readonly PricedUsage[] } | undefined => {
  if (usage === undefined || usage.length === 0) return undefined;
  let delta: UsageDelta = noUsage;
  let total: Cost | undefined;
  const entries: PricedUsage[] = [];
  for (const report of usage) {
    const cost: Cost | undefined =
      report.cost === undefined ? price(report) : { totalCost: report.cost, currency: 'USD', isEstimated: false };
    entries.push({ usage: report, ...(cost === undefined ? {} : { cost }) });
    const inputTokens = report.inputTokens ?? 0;
    const outputTokens = report.outputTokens ?? 0;
    delta = addUsage(delta, {
      inputTokens,
      outputTokens,
      totalTokens: report.totalTokens ?? inputTokens + outputTokens,
      ...(cost === undefined ? {} : { cost: cost.totalCost, prices: 1 }),
    });
    if (cost !== undefined)
      total = total === undefined ? cost : { ...cost, isEstimated: cost.isEstimated || total.isEstimated };
  }
  const money = moneyOf(delta);
  if (total === undefined || money === undefined) return { delta, entries };
  return { delta, entries, cost: { ...(usage.length === 1 ? total : withoutSplit(total)), totalCost: money } };
};
/** The split of one report says nothing about the sum of several. */
const withoutSplit = ({ totalCost, currency, isEstimated, priceBookId }: Cost): Cost => ({
  totalCost,
  currency,
  isEstimated,
  ...(priceBookId === undefined ? {} : { priceBookId }),
});
