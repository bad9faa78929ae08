import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { formatCount, plural } from '../../model/units.ts';
import { number } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { usePageState } from '../../widgets/page-state.ts';
import { Loaded } from '../../widgets/states.tsx';
import css from './doctor.module.css';

type Report = components['schemas']['DoctorReport'];
type Level = components['schemas']['DoctorFinding']['level'];

const grammar = { window_days: number() } as const;

const looks: Readonly<Record<Level, { readonly glyph: string; readonly color: string }>> = {
  ok: { glyph: '✓', color: 'ok' },
  skipped: { glyph: '○', color: 'cancelled' },
  warning: { glyph: '⚠', color: 'backoff' },
  fault: { glyph: '✕', color: 'error' },
};

const LevelMark = ({ level }: { readonly level: Level }) => (
  <span className={css['level']} style={{ color: `var(--${looks[level].color})` }}>
    <span aria-hidden>{looks[level].glyph}</span> {level}
  </span>
);

const Groups = ({ report }: { readonly report: Report }) => {
  const { summary } = report;
  return (
    <div className={css['page']}>
      <p>
        {plural(summary.fault, 'fault')}, {plural(summary.warning, 'warning')}, {formatCount(summary.ok)} ok.{' '}
        {plural(summary.skipped, 'check')} skipped: what was not run proves nothing.
      </p>
      <p className={css['note']}>
        Looked at <Instant at={report.checked_at} />, over {plural(report.window_days, 'day')}, version {report.version}
        .{report.read_only && ' Nothing was written.'}
        {report.offline && ' Nothing but storage was contacted.'} <code>svc doctor</code> does both.
      </p>
      <ol className={css['groups']} aria-label="Groups">
        {report.groups.map(({ group, findings }) => (
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
    </div>
  );
};

export default function DoctorPage() {
  const [{ window_days }] = usePageState(grammar);
  const query = useQuery({
    queryKey: ['doctor', window_days],
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/api/doctor', { params: { query: window_days === undefined ? {} : { window_days } }, signal })),
  });
  return (
    <>
      <PageHead
        title="Doctor"
        actions={
          <Button disabled={query.isFetching} onClick={() => void query.refetch()}>
            Look again
          </Button>
        }
      />
      <Loaded query={query} what="the check">
        {(report) => <Groups report={report} />}
      </Loaded>
    </>
  );
}
