import type { CSSProperties } from 'react';
import type { components } from '../../api/types.ts';
import { countedBy, NO_KEY } from '../../model/series.ts';
import { formatCompact, formatCount, formatDurationMs, formatMoney, formatShare, UNKNOWN } from '../../model/units.ts';
import type { Column } from '../../widgets/data-table.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { PlainTable } from '../../widgets/plain-table.tsx';
import css from './cost.module.css';

type Report = components['schemas']['CostReport'];
type Group = Report['groups'][number];
export type Grouping = components['schemas']['CostGrouping'];

/** The traces behind a group. A model of the price book may have been called by several ids, each a link of its own. */
const GroupName = ({ group, groupBy }: { readonly group: Group; readonly groupBy: Grouping }) => {
  const { key, models } = group;
  if (key === undefined) return <>{NO_KEY}</>;
  if (models === undefined || models.length === 0)
    return (
      <PageLink to="/traces" params={{ [groupBy]: key }}>
        {key}
      </PageLink>
    );
  return (
    <>
      {key}{' '}
      <span className={css['ids']}>
        called as{' '}
        {models.map(({ model }, index) => (
          <span key={model}>
            {index > 0 && ', '}
            <PageLink to="/traces" params={{ model }}>
              {model}
            </PageLink>
          </span>
        ))}
      </span>
    </>
  );
};

/** Calls without any token reported none: nobody counted, which is not zero. */
const tokens = ({ input_tokens, output_tokens }: Group, count: number): string =>
  input_tokens === 0 && output_tokens === 0 ? UNKNOWN : formatCompact(count);

const columnsOf = (report: Report, groupBy: Grouping): readonly Column<Group>[] => {
  const { currency, total_cost = 0 } = report;
  return [
    { id: 'group', head: groupBy.replaceAll('_', ' '), cell: (group) => <GroupName group={group} groupBy={groupBy} /> },
    { id: 'count', head: countedBy(groupBy), isNumber: true, cell: ({ count }) => formatCount(count) },
    {
      id: 'cost',
      head: 'Cost',
      isNumber: true,
      cell: (group) =>
        group.total_cost === undefined ? (
          <span title="not priced">{UNKNOWN}</span>
        ) : (
          formatMoney({ total_cost: group.total_cost, currency })
        ),
    },
    {
      id: 'share',
      head: 'Share of cost',
      cell: (group) => {
        if (group.total_cost === undefined || total_cost <= 0) return UNKNOWN;
        const share = group.total_cost / total_cost;
        return (
          <>
            {formatShare(share)}
            <span className={css['share']} style={{ '--part': `${share * 100}%` } as CSSProperties} />
          </>
        );
      },
    },
    { id: 'in', head: 'Tokens in', isNumber: true, cell: (group) => tokens(group, group.input_tokens) },
    { id: 'out', head: 'Tokens out', isNumber: true, cell: (group) => tokens(group, group.output_tokens) },
    {
      id: 'errors',
      head: 'Failed',
      isNumber: true,
      cell: ({ count, error_count }) =>
        count === 0 ? UNKNOWN : `${formatCount(error_count)} (${formatShare(error_count / count)})`,
    },
    {
      id: 'latency',
      head: 'Latency, mean and max',
      isNumber: true,
      cell: ({ latency }) =>
        latency === undefined ? UNKNOWN : `${formatDurationMs(latency.mean)}, ${formatDurationMs(latency.max)}`,
    },
  ];
};

export const Groups = ({ report, groupBy }: { readonly report: Report; readonly groupBy: Grouping }) => (
  <PlainTable
    name="Cost by group"
    columns={columnsOf(report, groupBy)}
    rows={report.groups}
    idOf={({ key }) => key ?? ''}
  />
);
