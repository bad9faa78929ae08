import { useCallback, useEffect, useRef, useState } from 'react';
import { followJournal, type JournalEntry, readJournal } from '../../api/journal.ts';
import { addEntries } from '../../model/journal.ts';

export type Following = 'connecting' | 'live' | 'reconnecting' | 'paused' | 'ended';

/** Between two connections that brought nothing. */
const AGAIN_AFTER_MS = [250, 1_000, 3_000, 10_000] as const;
/** Entries of one turn are shown together. By a timer: frames do not come in hidden tabs. */
const SHOWN_EACH_MS = 50;

/**
 * The journal of a run as it is written. A connection that ends is opened again after the last entry; the numbers have no
 * gap, so that nothing is missed and nothing is shown twice. In a hidden tab it is closed.
 * @param how `once` reads what is written so far, at most ten pages of it, and leaves it at that
 * @returns `more` reads on where there is more than was read
 */
export const useJournal = (
  run: string,
  how: 'not yet' | 'once' | 'follow',
  onChange: () => void,
): {
  readonly entries: readonly JournalEntry[];
  readonly following: Following;
  readonly error: unknown;
  readonly more: { readonly isReading: boolean; readonly read: () => void } | undefined;
} => {
  const [entries, setEntries] = useState<readonly JournalEntry[]>([]);
  const [following, setFollowing] = useState<Following>('connecting');
  const [error, setError] = useState<unknown>(null);
  /** Of `once`: whether the journal goes on behind what was read, and how many times more of it was asked for. */
  const [isCut, setCut] = useState(false);
  const [asked, setAsked] = useState(0);
  const [isReading, setReading] = useState(false);
  /** What was read stays read while the page is not live. */
  const held = useRef<{ readonly run: string; readonly entries: readonly JournalEntry[]; readonly asked: number }>({
    run,
    entries: [],
    asked: 0,
  });
  useEffect(() => {
    if (how === 'not yet') return undefined;
    const stop = new AbortController();
    if (how === 'once') {
      const before = held.current.run === run ? held.current : undefined;
      if (before !== undefined && before.entries.length > 0 && before.asked === asked) return undefined;
      const readOnce = async (): Promise<void> => {
        setReading(true);
        try {
          const known = before?.entries ?? [];
          const read = await readJournal(run, stop.signal, known.at(-1)?.seq);
          const { entries: next } = addEntries(known, read.entries);
          held.current = { run, entries: next, asked };
          setEntries(next);
          setCut(read.isCut);
          setError(null);
        } catch (fault) {
          if (!stop.signal.aborted) setError(fault);
        } finally {
          if (!stop.signal.aborted) setReading(false);
        }
      };
      void readOnce();
      return () => stop.abort();
    }
    let connection = new AbortController();
    let known = held.current.run === run ? held.current.entries : [];
    let arrived: JournalEntry[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let wake = (): void => {};

    const show = (): void => {
      timer = undefined;
      const { entries: next, gap } = addEntries(known, arrived);
      arrived = [];
      if (gap) connection.abort(); // asks again from the last one that is whole
      if (next === known) return;
      known = next;
      held.current = { run, entries: next, asked };
      setCut(false);
      setEntries(next);
      onChange();
    };
    const rest = (ms: number): Promise<void> =>
      new Promise((resolve) => {
        const over = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(over);
          resolve();
        };
      });
    const follow = async (): Promise<void> => {
      let failures = 0;
      while (!stop.signal.aborted) {
        if (document.visibilityState === 'hidden') {
          await rest(60_000);
          continue;
        }
        connection = new AbortController();
        const before = known.length;
        try {
          const isOver = await followJournal(run, known.at(-1)?.seq ?? -1, connection.signal, (entry) => {
            arrived.push(entry);
            timer ??= setTimeout(show, SHOWN_EACH_MS);
            setFollowing('live');
            setError(null);
          });
          show();
          if (isOver || known.at(-1)?.kind === 'run.finished') {
            setFollowing('ended');
            return;
          }
        } catch (fault) {
          show();
          if (!connection.signal.aborted) setError(fault);
        }
        if (stop.signal.aborted) return;
        setFollowing('reconnecting');
        failures = known.length > before ? 0 : failures + 1;
        await rest(AGAIN_AFTER_MS[Math.min(failures, AGAIN_AFTER_MS.length - 1)] ?? 0);
      }
    };
    const onVisibility = (): void => {
      if (document.visibilityState === 'hidden') connection.abort();
      else wake();
    };
    document.addEventListener('visibilitychange', onVisibility);
    void follow();
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      stop.abort();
      connection.abort();
      clearTimeout(timer);
      wake();
    };
  }, [run, how, onChange, asked]);
  const read = useCallback(() => setAsked((times) => times + 1), []);
  const more = isCut && how === 'once' ? { isReading, read } : undefined;
  return { entries, more, following: how !== 'once' || following === 'ended' ? following : 'paused', error };
};
