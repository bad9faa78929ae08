import * as z from 'zod';
import type { components } from '../../model/generated/openapi.ts';
import type { DaemonClient } from '../daemon-client.ts';
import { count, counted, duration, money, oneLine, percent, table } from './format.ts';
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

export const runStatsInput = (scope: ProjectScope) =>
  z.strictObject({
    ...projectArgument(scope),
    ...window,
    group_by: z
      .enum(Object.keys(groupings) as [keyof typeof groupings, ...(keyof typeof groupings)[]])
      .optional()
      .describe('Adds one line for each value.'),
  });

const runsOf = ({ trace_count: runs, error_count: failed }: Totals): string[] => [
  counted(runs, 'run'),
  runs === 0 ? 'none failed' : `${count(failed)} failed (${percent(failed / runs)})`,
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
    ? 'no run has ended'
    : `p50 ${duration(latency.p50)}, p95 ${duration(latency.p95)}, p99 ${duration(latency.p99)}, max ${duration(latency.max)}`;

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
    `${windowText(args)}${project === undefined ? '' : `, project ${oneLine(project)}`}: ${[...runsOf(report), ...spentOf(report, currency)].join(', ')}`,
    `latency: ${latencyOf(report)}`,
  ];
  if (groupBy !== undefined)
    lines.push(
      '',
      `by ${groupBy}:`,
      ...(groups.length === 0
        ? ['nothing to group']
        : table(
            groups.map((group) => [
              group.key === undefined ? `(no ${groupBy})` : oneLine(group.key, 60),
              ...runsOf(group),
              ...spentOf(group, currency),
              latencyOf(group),
            ]),
          )),
    );
  return lines.join('\n');
};
