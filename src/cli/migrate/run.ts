import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { heldKinds } from '../../store/signals/moving.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import { EXIT_START, EXIT_USAGE } from '../exit-status.ts';
import { count } from '../format.ts';
import { type Counts, moveStore, NotMovable } from './move.ts';
import { createProgress } from './progress.ts';
import { faultOfSource, type HeldStore, openHeld, parseStoreAddress, showStore } from './stores.ts';
import { table } from '../table.ts';

export type MigrateOptions = { readonly from: string; readonly to: string; readonly add?: true };
export type MigrateIo = {
  readonly out: (text: string) => void;
  readonly err: (line: string) => void;
  readonly isTerminal: boolean;
};

const countsText = (source: Counts, target: Counts): string =>
  table([['kind', 'source', 'target'], ...heldKinds.map((kind) => [kind, count(source[kind]), count(target[kind])])]);

/**
 * `svc migrate`: moves all signals and records of one store into another one, while no service runs on either.
 * @returns the exit status: 1 when it was refused, or when the two sides do not agree at its end
 */
export const migrate = async (options: MigrateOptions, { out, err, isTerminal }: MigrateIo): Promise<number> => {
  const misused = (problem: string): number => {
    err(`svc: ${problem}`);
    return EXIT_USAGE;
  };
  const refused = (problem: string): number => {
    err(`svc: ${problem}`);
    return EXIT_START;
  };
  const from = parseStoreAddress(options.from);
  if (!from.ok) return misused(`--from: ${from.problem}`);
  const to = parseStoreAddress(options.to);
  if (!to.ok) return misused(`--to: ${to.problem}`);
  if (showStore(from.value) === showStore(to.value)) return misused('--from and --to name the same store');
  const fault = faultOfSource(from.value);
  if (fault !== undefined) return misused(`--from: ${fault}`);

  const move = JSON.stringify([hostname(), showStore(from.value), showStore(to.value)]);
  const holder = `svc-migrate/${createHash('sha256').update(move).digest('base64url')}`;
  const opened: HeldStore[] = [];
  const progress = createProgress({ out, isTerminal, now: () => performance.now() });
  try {
    for (const address of [from.value, to.value]) {
      const store = await openHeld(address, holder);
      if (typeof store === 'string') return refused(store);
      opened.push(store);
    }
    const [source, target] = opened.map(({ store }) => store);
    if (source === undefined || target === undefined) throw new Error('a store was not opened');
    const outcome = await moveStore({
      source,
      target,
      add: options.add === true,
      moved: progress.moved,
      check: () => {
        if (!opened.every(({ isHeld }) => isHeld()))
          throw new NotMovable('the database was not reached in time, and a service may have started; run this again');
      },
    });
    progress.end();
    if (outcome.kind === 'refused') return refused(outcome.problem);
    out(countsText(outcome.source, outcome.target));
    if (outcome.differing.length > 0)
      return refused(
        `the two sides do not agree on ${outcome.differing.join(', ')}: did something write to one of them? Empty the target and run this again`,
      );
    out(
      options.add === true
        ? 'The target holds what the source holds, and what it held before.\n'
        : 'Both sides agree.\n',
    );
    return 0;
  } catch (error) {
    progress.end();
    if (!(error instanceof StoreUnavailable) && !(error instanceof NotMovable)) throw error;
    return refused(`${error.message}${opened.length === 2 ? '; run the same command again, and it goes on' : ''}`);
  } finally {
    for (const { close } of opened.toReversed()) await close();
  }
};
