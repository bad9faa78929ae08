import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { heldTables } from '../../store/runs/moving.ts';
import { heldKinds } from '../../store/signals/moving.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import { EXIT_START, EXIT_USAGE } from '../exit-status.ts';
import { count } from '../format.ts';
import { table } from '../table.ts';
import { moveStore, NotMovable } from './move.ts';
import { moveRuns } from './move-runs.ts';
import { createProgress, type Progress } from './progress.ts';
import { openHeldRuns } from './run-stores.ts';
import { faultOfSource, type HeldStore, openHeld, parseStoreAddress, showStore, type StoreAddress } from './stores.ts';

export type MigrateOptions = {
  readonly from: string;
  readonly to: string;
  readonly runs?: true;
  readonly add?: true;
};
export type MigrateIo = {
  readonly out: (text: string) => void;
  readonly err: (line: string) => void;
  readonly isTerminal: boolean;
};

type Side = { readonly [kind: string]: number };
type Outcome =
  | { readonly kind: 'refused'; readonly problem: string }
  | { readonly kind: 'moved_before' }
  | { readonly kind: 'moved'; readonly source: Side; readonly target: Side; readonly differing: readonly string[] };
type How = Pick<MigrateOptions, 'add'> & {
  readonly from: string;
  readonly to: string;
  readonly moved: Progress['moved'];
  readonly check: () => void;
};

/** What is moved: how its stores are opened, and what is done with them. */
type Moved<S> = {
  readonly kinds: readonly string[];
  readonly open: (address: StoreAddress, holder: string) => Promise<HeldStore<S> | string>;
  readonly move: (source: S, target: S, how: How) => Promise<Outcome>;
  readonly done: (how: Pick<How, 'add' | 'from' | 'to'>) => string;
};
const signals: Moved<Parameters<typeof moveStore>[0]['target']> = {
  kinds: heldKinds,
  open: openHeld,
  move: (source, target, { add, ...how }) => moveStore({ source, target, add: add === true, ...how }),
  done: ({ add }) =>
    add === true ? 'The target holds what the source holds, and what it held before.\n' : 'Both sides agree.\n',
};
const runs: Moved<Parameters<typeof moveRuns>[0]['target']> = {
  kinds: heldTables.map(({ kind }) => kind),
  open: openHeldRuns,
  move: (source, target, { add: _none, ...how }) => moveRuns({ source, target, ...how }),
  done: ({ from, to }) =>
    `Both sides agree. The runs go on in ${to}; no service starts on those of ${from} any more.\n`,
};

const migrating = async <S>(
  what: Moved<S>,
  [from, to]: readonly [StoreAddress, StoreAddress],
  { add }: MigrateOptions,
  { out, err, isTerminal }: MigrateIo,
): Promise<number> => {
  const refused = (problem: string): number => {
    err(`svc: ${problem}`);
    return EXIT_START;
  };
  const named = { from: showStore(from), to: showStore(to), ...(add === undefined ? {} : { add }) };
  const move = JSON.stringify([hostname(), named.from, named.to]);
  const holder = `svc-migrate/${createHash('sha256').update(move).digest('base64url')}`;
  const opened: HeldStore<S>[] = [];
  const progress = createProgress({ out, isTerminal, now: () => performance.now() });
  try {
    for (const address of [from, to]) {
      const store = await what.open(address, holder);
      if (typeof store === 'string') return refused(store);
      opened.push(store);
    }
    const [source, target] = opened.map(({ store }) => store);
    if (source === undefined || target === undefined) throw new Error('a store was not opened');
    const outcome = await what.move(source, target, {
      ...named,
      moved: progress.moved,
      check: () => {
        if (!opened.every(({ isHeld }) => isHeld()))
          throw new NotMovable('the database was not reached in time, and a service may have started; run this again');
      },
    });
    progress.end();
    if (outcome.kind === 'refused') return refused(outcome.problem);
    if (outcome.kind === 'moved_before') {
      out(`An earlier move to ${named.to} did all of it.\n`);
      return 0;
    }
    out(
      table([
        ['kind', 'source', 'target'],
        ...what.kinds.map((kind) => [kind, count(outcome.source[kind] ?? 0), count(outcome.target[kind] ?? 0)]),
      ]),
    );
    if (outcome.differing.length > 0)
      return refused(
        `the two sides do not agree on ${outcome.differing.join(', ')}: did something write to one of them? Empty the target and run this again`,
      );
    out(what.done(named));
    return 0;
  } catch (error) {
    progress.end();
    if (!(error instanceof StoreUnavailable) && !(error instanceof NotMovable)) throw error;
    return refused(`${error.message}${opened.length === 2 ? '; run the same command again, and it goes on' : ''}`);
  } finally {
    for (const { close } of opened.toReversed()) await close();
  }
};

/**
 * `svc migrate`: moves all signals and records of one store into another one, or all durable runs, while no service runs on either.
 * @returns the exit status: 1 when it was refused, or when the two sides do not agree at its end
 */
export const migrate = async (options: MigrateOptions, io: MigrateIo): Promise<number> => {
  const misused = (problem: string): number => {
    io.err(`svc: ${problem}`);
    return EXIT_USAGE;
  };
  const from = parseStoreAddress(options.from);
  if (!from.ok) return misused(`--from: ${from.problem}`);
  const to = parseStoreAddress(options.to);
  if (!to.ok) return misused(`--to: ${to.problem}`);
  if (showStore(from.value) === showStore(to.value)) return misused('--from and --to name the same store');
  const addresses = [from.value, to.value] as const;
  const moves = options.runs === true ? 'runs' : 'signals';
  const fault = faultOfSource(from.value, moves);
  if (fault !== undefined) return misused(`--from: ${fault}`);
  if (moves === 'signals') return migrating(signals, addresses, options, io);
  if (options.add === true) return misused('--add: runs are moved into an empty store only');
  if (addresses.some(({ kind }) => kind === 'clickhouse'))
    return misused('--runs: durable runs are kept in a file or in PostgreSQL, not in ClickHouse');
  if (addresses.every(({ kind }) => kind === 'file'))
    return misused('--runs: a file of runs is moved by copying it while no service runs on it');
  return migrating(runs, addresses, options, io);
};
