import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { formatCount, plural } from '../../model/units.ts';
import { number, oneOf } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import { FilterSelect, Filters } from '../../widgets/filters.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { usePageState } from '../../widgets/page-state.ts';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { Loaded, ProblemNotice } from '../../widgets/states.tsx';
import css from './doctor.module.css';

type Report = components['schemas']['DoctorReport'];
type Level = components['schemas']['DoctorFinding']['level'];

const looks: Readonly<Record<Level, { readonly glyph: string; readonly color: string }>> = {
  ok: { glyph: '✓', color: 'ok' },
  skipped: { glyph: '○', color: 'cancelled' },
  warning: { glyph: '⚠', color: 'backoff' },
  fault: { glyph: '✕', color: 'error' },
};

/** The worst first. */
const levels = ['fault', 'warning', 'skipped', 'ok'] as const satisfies readonly Level[];

const grammar = { level: oneOf(levels), window_days: number() } as const;

const LevelMark = ({ level }: { readonly level: Level }) => (
  <span className={css['level']} style={{ color: `var(--${looks[level].color})` }}>
    <span aria-hidden>{looks[level].glyph}</span> {level}
  </span>
);

const Groups = ({ report, level }: { readonly report: Report; readonly level: Level | undefined }) => {
  const { summary } = report;
  const groups =
    level === undefined
      ? report.groups
      : report.groups
          .map(({ group, findings }) => ({ group, findings: findings.filter((one) => one.level === level) }))
          .filter(({ findings }) => findings.length > 0);
  return (
    <div className={css['page']}>
      <p>
        {plural(summary.fault, 'fault')}, {plural(summary.warning, 'warning')}, {formatCount(summary.ok)} ok.{' '}
        {plural(summary.skipped, 'check')} skipped: what was not run proves nothing.
      </p>
      <p className={css['note']}>
        Looked at <Instant at={report.checked_at} />, over {plural(report.window_days, 'day')}, version {report.version}
        .{report.read_only ? ' Nothing was written.' : ' A probe span was written, read back and deleted.'}
        {report.offline && ' Nothing but storage was contacted.'} <code>svc doctor</code> also reads the files for
        damage, and contacts what is configured.
      </p>
      <ol className={css['groups']} aria-label="Groups">
        {groups.map(({ group, findings }) => (
          <li key={group}>
            <h2>{group}</h2>
            <ul>
              {findings.map(({ level, message, mend }, index) => (
                <li key={`${index} ${message}`} className={css['finding']}>
                  <LevelMark level={level} />
                  <span>
                    {message}
                    {mend !== undefined && <span className={css['mend']}>To mend: {mend}</span>}
                  </span>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
      {groups.length === 0 && <p>No finding is of the level {level}.</p>}
    </div>
  );
};

export default function DoctorPage() {
  const [{ window_days, level }, setState] = usePageState(grammar);
  const choose = (next: Level | undefined): void => setState({ level: next }, 'push');
  const client = useQueryClient();
  const may = useMay('admin');
  const params = { query: window_days === undefined ? {} : { window_days } };
  const queryKey = ['doctor', window_days];
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) => ask(api.GET('/v1/api/doctor', { params, signal })),
  });
  const probe = useMutation({
    mutationFn: () => ask(api.POST('/v1/api/doctor', { params })),
    onSuccess: (report) => client.setQueryData(queryKey, report),
  });
  const isBusy = query.isFetching || probe.isPending;
  return (
    <>
      <PageHead
        title="Doctor"
        actions={
          <>
            <NeedsScope scope="admin" may={may} />
            <Button disabled={isBusy || may !== true} onClick={() => probe.mutate()}>
              Write a probe span
            </Button>
            <Button disabled={isBusy} onClick={() => void query.refetch()}>
              Look again
            </Button>
          </>
        }
      />
      {probe.error !== null && <ProblemNotice error={probe.error} />}
      <Filters active={level === undefined ? [] : [{ name: 'level', value: level, onRemove: () => choose(undefined) }]}>
        <FilterSelect name="Level" value={level} words={levels} onChoose={choose} />
      </Filters>
      <Loaded query={query} what="the check">
        {(report) => <Groups report={report} level={level} />}
      </Loaded>
    </>
  );
}
