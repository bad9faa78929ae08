import * as z from 'zod';
import type { components } from '../../model/generated/openapi.ts';
import type { DaemonClient } from '../daemon-client.ts';
import { count, counted, duration, money, oneLine, percent } from '../format.ts';
import { tableLines } from '../table.ts';
import { type ProjectScope, projectArgument, projectOf, window, windowText } from './scope.ts';

type Report = components['schemas']['SummaryReport'];
type Totals = components['schemas']['SummaryTotals'];

const groupings = {
  model: 'model',
  name: 'name',
  status: 'status',
  environment: 'environment',
  user: 'user_id',
} as const;

const MODELS_SHOWN = 10;

export const runStatsInput = (scope: ProjectScope) =>
  z.strictObject({
    ...projectArgument(scope),
    ...window,
    group_by: z
      .enum(Object.keys(groupings) as [keyof typeof groupings, ...(keyof typeof groupings)[]])
      .optional()
      .describe('Adds one line for each value.'),
  });

/** A cancelled run neither succeeded nor failed: it is counted apart, and in no share. */
const tracesOf = ({
  trace_count: traces,
  error_count: failed,
  error_rate: rate,
  cancelled_count: cancelled,
}: Totals) => [
  counted(traces, 'trace'),
  `${rate === undefined ? 'none failed' : `${count(failed)} failed (${percent(rate)})`}${cancelled > 0 ? `, ${count(cancelled)} cancelled` : ''}`,
];
const spentOf = (
  { total_cost: spent, input_tokens: input, output_tokens: output }: Totals,
  currency?: string,
): string[] => [
  spent === undefined ? 'no cost' : money(spent, currency),
  `${count(input)} in, ${count(output)} out tokens`,
];
const latencyOf = ({ latency }: Totals): string =>
  latency === undefined
    ? 'nothing has ended'
    : `p50 ${duration(latency.p50)}, p95 ${duration(latency.p95)}, p99 ${duration(latency.p99)}, max ${duration(latency.max)}`;

type Group = NonNullable<Report['groups']>[number];

/** The ids under which a model was called, where they are not the one name of its group. */
const modelLines = ({ models = [] }: Group, currency: string | undefined): string[] => [
  ...models
    .slice(0, MODELS_SHOWN)
    .map(
      ({ model, count: calls, total_cost: spent }) =>
        `  as ${oneLine(model, 60)}: ${counted(calls, 'call')}, ${spent === undefined ? 'no cost' : money(spent, currency)}`,
    ),
  ...(models.length > MODELS_SHOWN ? [`  and ${models.length - MODELS_SHOWN} more ids`] : []),
];

/** Cost, failure rate, latency and tokens over a window, in total or by group. */
export const runStats = async (
  client: DaemonClient,
  scope: ProjectScope,
  args: z.output<ReturnType<typeof runStatsInput>>,
): Promise<string> => {
  const { from, to, group_by: groupBy } = args;
  const project = projectOf(scope, args);
  const report = await client.get<Report>('/v1/api/analytics/summary', {
    ...{ project, from, to },
    group_by: groupBy === undefined ? undefined : groupings[groupBy],
  });
  const { currency, groups = [] } = report;
  const lines = [
    `${windowText(args)}${project === undefined ? '' : `, project ${oneLine(project)}`}: ${[...tracesOf(report), ...spentOf(report, currency)].join(', ')}`,
    `latency: ${latencyOf(report)}`,
  ];
  if (groupBy !== undefined)
    lines.push(
      '',
      groupBy === 'model'
        ? 'by model: (a trace is in each group that it called; cost and tokens are those of the calls)'
        : `by ${groupBy}:`,
      ...(groups.length === 0
        ? ['nothing to group']
        : tableLines(
            groups.map((group) => [
              group.key === undefined ? `(no ${groupBy})` : oneLine(group.key, 60),
              ...tracesOf(group),
              ...spentOf(group, currency),
              latencyOf(group),
            ]),
          ).flatMap((line, at) => [line, ...(groups[at] === undefined ? [] : modelLines(groups[at], currency))])),
    );
  return lines.join('\n');
};
