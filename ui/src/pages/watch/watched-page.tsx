import type { ReactNode } from 'react';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import { Acknowledgement, ConditionNote } from './parts.tsx';
import { Transitions } from './transitions.tsx';
import css from './watch.module.css';

type Query<T> = { readonly data: T | undefined; readonly error: unknown; readonly refetch: () => unknown };
type Watched = Parameters<typeof Acknowledgement>[0]['watched'];
type History<E> = {
  readonly evaluations: readonly E[];
  readonly transitions: Parameters<typeof Transitions>[0]['transitions'];
  readonly next_cursor?: string;
};

const WORDS = {
  monitor: { one: 'the monitor', title: 'Monitor', none: 'No such monitor', list: '/monitors', all: 'All monitors' },
  slo: { one: 'the objective', title: 'SLO', none: 'No such objective', list: '/slos', all: 'All objectives' },
} as const;

/** The page of a monitor or an SLO: its state, its facts, its acknowledgement, and its history. */
export const WatchedPage = <L, T extends Watched, E>({
  kind,
  id,
  query,
  among,
  history,
  stateOf,
  renderFacts,
  renderCharts,
}: {
  readonly kind: keyof typeof WORDS;
  readonly id: string;
  readonly query: Query<L>;
  readonly among: (list: L) => readonly T[];
  readonly history: Query<History<E>>;
  readonly stateOf: (watched: T) => string;
  readonly renderFacts: (watched: T) => ReactNode;
  readonly renderCharts: (watched: T, evaluations: readonly E[]) => ReactNode;
}) => {
  const words = WORDS[kind];
  return (
    <Loaded query={query} what={words.one} head={words.title}>
      {(list) => {
        const watched = among(list).find((one) => one.id === id);
        return watched === undefined ? (
          <>
            <PageHead title={words.title} />
            <EmptyState title={words.none}>
              <PageLink to={words.list}>{words.all}</PageLink>
            </EmptyState>
          </>
        ) : (
          <>
            <PageHead title={watched.name} of={words.title}>
              <StatusMark state={stateOf(watched)} />
            </PageHead>
            <div className={css['page']}>
              {renderFacts(watched)}
              <Acknowledgement kind={kind} watched={watched} />
              <ConditionNote />
              <Loaded query={history} what="its history">
                {({ evaluations, transitions, next_cursor }) => (
                  <>
                    {evaluations.length > 0 && renderCharts(watched, evaluations)}
                    <Transitions transitions={transitions} isCut={next_cursor !== undefined} />
                  </>
                )}
              </Loaded>
            </div>
          </>
        );
      }}
    </Loaded>
  );
};
