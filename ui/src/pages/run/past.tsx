import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { api, ask } from '../../api/client.ts';
import type { JournalEntry } from '../../api/journal.ts';
import { journalTicks, tellEntry } from '../../model/journal.ts';
import { Button } from '../../widgets/button.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { JsonChanges } from '../../widgets/json-changes.tsx';
import { JsonTree } from '../../widgets/json-tree.tsx';
import { MomentSlider } from '../../widgets/moment-slider.tsx';
import { type Shortcut, useShortcuts } from '../../widgets/shortcuts.tsx';
import { Loaded } from '../../widgets/states.tsx';
import css from './run.module.css';

export type PastState = { readonly seq?: number | undefined; readonly vs?: number | undefined };

/** A slider that is dragged asks for the moment at which it rests. */
const ASKED_AFTER_MS = 120;

/** An entry of a run that is played. */
const PLAY_MS = 700;

const useResting = <T,>(value: T): T => {
  const [resting, setResting] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setResting(value), ASKED_AFTER_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return resting;
};

/** The machine of a run as it was after an entry of its journal, which never changes. The service folds the journal. */
export const useSnapshot = (run: string, wanted: number | undefined) => {
  const seq = useResting(wanted);
  return useQuery({
    queryKey: ['actors', 'run', run, seq],
    enabled: seq !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/actors/{type}/{id}', {
          params: { path: { type: 'run', id: run }, query: seq === undefined ? {} : { at_seq: seq } },
          signal,
        }),
      ),
  });
};
type Snapshot = ReturnType<typeof useSnapshot>;

const momentText = (entries: readonly JournalEntry[], seq: number): string => {
  const entry = entries[seq];
  return `seq ${seq} of ${entries.at(-1)?.seq ?? seq}${entry === undefined ? '' : `, ${tellEntry(entry)}`}`;
};

/** The slider over the journal: any moment of the run, and another one to compare it with. */
export const Past = ({
  entries,
  state,
  setState,
}: {
  readonly entries: readonly JournalEntry[];
  readonly state: PastState;
  readonly setState: (change: PastState) => void;
}) => {
  const { seq, vs } = state;
  const last = entries.at(-1)?.seq;
  const shown = seq ?? last;
  const ticks = useMemo(() => journalTicks(entries), [entries]);
  const [isPlaying, setPlaying] = useState(false);
  useEffect(() => {
    if (!isPlaying || last === undefined) return undefined;
    const timer = setTimeout(() => {
      const next = (seq ?? last) + 1;
      setState({ seq: next < last ? next : undefined });
      if (next >= last) setPlaying(false);
    }, PLAY_MS);
    return () => clearTimeout(timer);
  }, [isPlaying, seq, last, setState]);
  const play = useCallback(() => {
    if (!isPlaying && seq === undefined) setState({ seq: 0 });
    setPlaying(!isPlaying);
  }, [isPlaying, seq, setState]);
  const shortcuts = useMemo<Shortcut[]>(() => {
    if (last === undefined) return [];
    const by = (steps: number) => (): void => {
      const next = Math.max(0, (seq ?? last) + steps);
      setState({ seq: next >= last ? undefined : next });
    };
    return [
      { keys: ',', what: 'One entry back', run: by(-1) },
      { keys: '.', what: 'One entry on', run: by(1) },
      { keys: '<', what: 'Ten entries back', run: by(-10) },
      { keys: '>', what: 'Ten entries on', run: by(10) },
      { keys: ' ', what: 'Play from this moment, or stop', run: play },
      { keys: 'End', what: 'Now', run: () => setState({ seq: undefined }) },
      {
        keys: 'd',
        what: 'Compare with this moment, or end that',
        run: () => setState({ vs: vs === undefined ? (seq ?? last) : undefined }),
      },
    ];
  }, [last, seq, vs, setState, play]);
  useShortcuts(shortcuts);
  const entry = seq === undefined ? undefined : entries[seq];
  return (
    <div className={css['past']} role="group" aria-label="Past">
      <MomentSlider
        first={0}
        last={Math.max(last ?? 0, seq ?? 0)}
        isDisabled={last === undefined}
        value={shown ?? 0}
        words={shown === undefined ? 'the journal is not read yet' : momentText(entries, shown)}
        // Beyond what is read the ticks would not stand where their entries do.
        ticks={seq !== undefined && last !== undefined && seq > last ? undefined : ticks}
        onChange={(next) => setState({ seq: next === last ? undefined : next })}
      />
      <span>
        {seq === undefined ? 'Now' : momentText(entries, seq)}
        {entry !== undefined && (
          <>
            , <Instant at={entry.at} />
          </>
        )}
      </span>
      <Button disabled={last === undefined} onClick={play}>
        {isPlaying ? 'Stop' : 'Play'}
      </Button>
      <Button disabled={seq === undefined} onClick={() => setState({ seq: undefined })}>
        Now
      </Button>
      {vs === undefined ? (
        <Button disabled={last === undefined} onClick={() => setState({ vs: shown })}>
          Compare with this moment
        </Button>
      ) : (
        <Button onClick={() => setState({ vs: undefined })}>Compared with seq {vs}: end</Button>
      )}
    </div>
  );
};

/** The state of the run's machine at the moment that is shown. */
export const PastTree = ({ snapshot }: { readonly snapshot: Snapshot }) => (
  <Loaded query={snapshot} what="the state of then">
    {({ value, context }) => (
      <>
        <JsonTree name="State" value={{ value, ...(typeof context === 'object' ? context : { context }) }} />
        <p className={css['soft']}>
          The state of the run’s machine after the change to which the entry belongs. One change may write several
          entries.
        </p>
      </>
    )}
  </Loaded>
);

export const PastChanges = ({
  before,
  after,
  vs,
}: {
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly vs: number;
}) => (
  <Loaded query={before} what="the earlier state">
    {(then) => (
      <Loaded query={after} what="the later state">
        {(shown) => (
          <>
            <h2>Compared with seq {vs}</h2>
            <JsonChanges
              before={{ value: then.value, context: then.context }}
              after={{ value: shown.value, context: shown.context }}
            />
          </>
        )}
      </Loaded>
    )}
  </Loaded>
);
