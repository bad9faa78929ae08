import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { components } from '../../api/types.ts';
import { type ActorNext, nextOfActor } from '../../model/actor-next.ts';
import { keptPastOf } from '../../model/actor-past.ts';
import { journalTicks } from '../../model/journal.ts';
import { activeStates, chartOf, stateText } from '../../model/statechart.ts';
import { messagesOf, sequenceAt } from '../../model/run-messages.ts';
import { formatCount, plural } from '../../model/units.ts';
import { leaseOfActor } from '../../model/lease-clock.ts';
import { number, text } from '../../model/url.ts';
import { api, ask } from '../../api/client.ts';
import { Button, CopyButton } from '../../widgets/button.tsx';
import { Facts } from './actor-facts.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { JsonChanges } from '../../widgets/json-changes.tsx';
import { JsonTree } from '../../widgets/json-tree.tsx';
import { LastHeartbeat, LeaseClock, useLeaseTimes } from '../../widgets/lease-clock.tsx';
import { usePolled } from '../../widgets/live.tsx';
import { MomentSlider } from '../../widgets/moment-slider.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePageState } from '../../widgets/page-state.ts';
import { useParam } from '../../widgets/param.ts';
import { type Shortcut, useShortcuts } from '../../widgets/shortcuts.tsx';
import { SequenceDiagram } from '../../widgets/sequence/sequence.tsx';
import { Split } from '../../widgets/split.tsx';
import { StateFacts } from '../../widgets/statechart/state-facts.tsx';
import { Statechart, Transitions } from '../../widgets/statechart/statechart.tsx';
import { Loaded, ProblemNotice } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import css from './actors.module.css';
import { LeaseMessages } from './lease-messages.tsx';
import { hasPast, type Moment, usePast } from './past.ts';
import { RunParts } from './run-parts.tsx';

type Snapshot = components['schemas']['ActorSnapshot'];

const grammar = { seq: number(), vs: number(), hi: text(), path: text() } as const;

const useSnapshot = (type: string, id: string, seq: number | undefined, isAsked = true) => {
  const options = {
    queryKey: ['actors', type, id, seq ?? 'now'],
    enabled: isAsked,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
      ask(
        api.GET('/v1/api/actors/{type}/{id}', {
          params: { path: { type, id }, query: seq === undefined ? {} : { at_seq: seq } },
          signal,
        }),
      ),
  };
  return usePolled<Snapshot>(options, seq === undefined);
};

/** The steps that a run entered, which its context counts. */
const visitedBy = ({ type, context }: Snapshot): ReadonlySet<string> => {
  const visits = typeof context === 'object' && context !== null ? (context as { visits?: object }).visits : undefined;
  return new Set(type === 'run' ? Object.keys(visits ?? {}).map((step) => `active.${step}`) : []);
};

/** The entry of a moment; of a lease, whose entries stand among others of its run, the last one before it. */
const momentText = (moments: readonly Moment[], seq: number): string => {
  const moment = moments.findLast((one) => one.seq <= seq);
  return moment === undefined ? `seq ${seq}` : `seq ${seq} of ${moments.at(-1)?.seq ?? seq}, ${moment.what}`;
};

const Next = ({ next: { what, at } }: { readonly next: ActorNext }) => (
  <>
    {at !== undefined && (
      <>
        <Instant at={new Date(at).toISOString()} />:{' '}
      </>
    )}
    {what}
  </>
);

/** Of an actor without a journal: what it remembers, and what nobody can say. */
const KeptPast = ({ actor }: { readonly actor: Snapshot }) => {
  const kept = keptPastOf(actor);
  if (kept === undefined) return null;
  return (
    <section aria-labelledby="past">
      <h2 id="past">Past</h2>
      <p>{kept.words}</p>
      {kept.moments.length > 0 && (
        <ol className={css['history']} aria-label="What it remembers">
          {kept.moments.map(({ at, what, runId }) => (
            <li key={`${at} ${what} ${runId ?? ''}`}>
              <Instant at={at} /> {what}{' '}
              {runId !== undefined && <PageLink to={`/runs/${encodeURIComponent(runId)}`}>its run</PageLink>}
            </li>
          ))}
        </ol>
      )}
    </section>
  );
};

export default function ActorPage() {
  const type = useParam('type');
  const id = useParam('id');
  const [{ seq, vs, hi, path }, setState] = usePageState(grammar);
  const now = useSnapshot(type, id, undefined);
  const shown = useSnapshot(type, id, seq, seq !== undefined);
  const pinned = useSnapshot(type, id, vs, vs !== undefined);
  const past = usePast(type, id, now.data?.run_id, seq !== undefined || vs !== undefined);
  const snapshot = seq === undefined ? now : shown;
  const machineName = now.data?.machine ?? '';
  const runId = type === 'run' ? id : now.data?.run_id;
  const machine = useQuery({
    queryKey: ['machines', machineName],
    enabled: machineName !== '',
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/api/machines/{name}', { params: { path: { name: machineName }, query: {} }, signal })),
  });
  const chart = useMemo(() => (machine.data === undefined ? undefined : chartOf(machine.data)), [machine.data]);
  const next = snapshot.data === undefined ? undefined : nextOfActor(snapshot.data);
  const lease = snapshot.data === undefined ? undefined : leaseOfActor(snapshot.data);
  const times = useLeaseTimes(lease !== undefined);
  const value = snapshot.data?.value;
  const nowValue = now.data?.value;
  const visited = useMemo(
    () => (snapshot.data === undefined ? new Set<string>() : visitedBy(snapshot.data)),
    [snapshot.data],
  );
  const marks = useMemo(
    () => ({
      active: new Set(activeStates(value)),
      visited,
      ...(seq === undefined ? {} : { ghost: new Set(activeStates(nowValue)) }),
    }),
    [value, nowValue, visited, seq],
  );
  const { moments } = past;
  const last = moments.at(-1)?.seq;
  const ticks = useMemo(() => (past.entries === undefined ? undefined : journalTicks(past.entries)), [past.entries]);
  const shortcuts = useMemo<Shortcut[]>(() => {
    if (last === undefined) return [];
    const to = (next: number): void =>
      setState({ seq: next >= last ? undefined : Math.max(moments[0]?.seq ?? 0, next) });
    return [
      { keys: ',', what: 'One entry back', run: () => to((seq ?? last) - 1) },
      { keys: '.', what: 'One entry on', run: () => to((seq ?? last) + 1) },
      { keys: '<', what: 'Ten entries back', run: () => to((seq ?? last) - 10) },
      { keys: '>', what: 'Ten entries on', run: () => to((seq ?? last) + 10) },
      { keys: 'End', what: 'Now', run: () => setState({ seq: undefined }) },
    ];
  }, [last, moments, seq, setState]);
  useShortcuts(shortcuts);
  const select = (state: string | undefined): void => setState({ hi: state });
  return (
    <>
      <PageHead title={`${type} ${id}`} of="Actor">
        {now.data !== undefined && (
          <>
            <StatusMark state={now.data.status} />
            <PageLink to={`/machines/${encodeURIComponent(machineName)}`}>{machineName}</PageLink>
            {runId !== undefined && <PageLink to={`/runs/${encodeURIComponent(runId)}`}>Run</PageLink>}
          </>
        )}
        <CopyButton label="Copy the id" text={id} />
      </PageHead>
      {hasPast(type) && (
        <div className={css['past']} role="group" aria-label="Past">
          {past.isAsked ? (
            <>
              <MomentSlider
                first={moments[0]?.seq ?? 0}
                last={last ?? 0}
                isDisabled={last === undefined}
                value={seq ?? last ?? 0}
                words={momentText(moments, seq ?? last ?? 0)}
                ticks={ticks}
                onChange={(to) => setState({ seq: to === last ? undefined : to })}
              />
              <span>{seq === undefined ? 'Now' : momentText(moments, seq)}</span>
              <Button disabled={seq === undefined} onClick={() => setState({ seq: undefined })}>
                Now
              </Button>
              {vs === undefined ? (
                <Button disabled={last === undefined} onClick={() => setState({ vs: seq ?? last })}>
                  Compare with this moment
                </Button>
              ) : (
                <Button onClick={() => setState({ vs: undefined })}>Compared with seq {vs}: end</Button>
              )}
              {past.isCut && <span>The first {formatCount(moments.length)} entries.</span>}
            </>
          ) : (
            <>
              <Button onClick={past.askFor}>Look at the past</Button>
              <span>
                This reads the journal of {type === 'lease' ? 'its run' : 'the run'}, and the audit log notes it.
              </span>
            </>
          )}
          {past.error !== null && <ProblemNotice error={past.error} />}
        </div>
      )}
      <Loaded query={snapshot} what={`the actor ${type}/${id}`}>
        {(actor) => (
          <Split
            sideName="Actor"
            side={
              <>
                <Facts
                  facts={[
                    ['State', stateText(actor.value) || '—'],
                    [seq === undefined ? 'Changed' : 'At', <Instant key="at" at={actor.updated_at} />],
                    ['Changes', formatCount(actor.version)],
                    ['Machine version', formatCount(actor.machine_version)],
                    ['Mailbox', plural(actor.mailbox, 'message')],
                    ...(lease === undefined
                      ? []
                      : [['By itself', <LeaseClock key="clock" lease={lease} times={times} />] as const]),
                    ...(type !== 'lease'
                      ? []
                      : [['Last heartbeat', <LastHeartbeat key="beat" at={actor.last_heartbeat_at} />] as const]),
                    ...(next === undefined ? [] : [['Next', <Next key="next" next={next} />] as const]),
                    ...(actor.fault === undefined ? [] : [['Fault', actor.fault] as const]),
                  ]}
                />
                {vs !== undefined && pinned.data !== undefined && (
                  <>
                    <h2>Changes since seq {vs}</h2>
                    <JsonChanges
                      before={{ value: pinned.data.value, context: pinned.data.context }}
                      after={{ value: actor.value, context: actor.context }}
                    />
                  </>
                )}
                {vs !== undefined && pinned.error !== null && <ProblemNotice error={pinned.error} />}
                {chart !== undefined && hi !== undefined && (
                  <>
                    <StateFacts chart={chart} selected={hi} onSelect={select} />
                    <Transitions chart={chart} selected={hi} onSelect={select} />
                  </>
                )}
                <h2>Context</h2>
                <JsonTree
                  name="State"
                  isFitted
                  value={actor.context ?? {}}
                  path={path}
                  onPath={(to) => setState({ path: to === '' ? undefined : to })}
                />
                {type === 'lease' && seq !== undefined && (
                  <p>As the journal of its run tells: when it would expire then, and its heartbeats, are not kept.</p>
                )}
                {past.entries !== undefined && (
                  <>
                    <h2>Messages</h2>
                    <SequenceDiagram name="Messages of the run" sequence={sequenceAt(messagesOf(past.entries), seq)} />
                  </>
                )}
                {type === 'run' && <RunParts runId={id} />}
                {type === 'lease' && runId !== undefined && <LeaseMessages runId={runId} leaseId={id} />}
                <KeptPast actor={actor} />
                {moments.length > 0 && type !== 'run' && (
                  <>
                    <h2>History</h2>
                    <ol className={css['history']}>
                      {moments.toReversed().map((moment) => (
                        <li key={moment.seq}>
                          <Instant at={moment.at} /> {moment.what}
                        </li>
                      ))}
                    </ol>
                  </>
                )}
              </>
            }
          >
            {machine.error !== null && <ProblemNotice error={machine.error} />}
            {chart !== undefined && (
              <Statechart
                name={`Statechart of ${type} ${id}`}
                chart={chart}
                marks={marks}
                selected={hi}
                onSelect={select}
              />
            )}
          </Split>
        )}
      </Loaded>
    </>
  );
}
