import { createHash } from 'node:crypto';
import { emptyBatch, type SignalBatch } from '../../model/signal.ts';
import { type Held, type HeldKind, heldKinds, MOVE_KEYS } from '../../store/signals/moving.ts';
import type { Page, Position } from '../../store/signals/query.ts';
import type { SignalStore } from '../../store/signals/signal-store.ts';

/** Rows that are read and written together, and about how many bytes of them. */
const PAGE = { limit: 1_000, maxBytes: 8 * 1024 * 1024 };
/** Rows of each kind by which a source is recognised. */
const RECOGNISED = 16;
/** Pages on their way to the target. */
const PAGES_AT_ONCE = 3;

export type Counts = Readonly<Record<HeldKind, number>>;

export type MoveInput = {
  readonly source: Pick<SignalStore, 'moving'>;
  readonly target: SignalStore;
  /** Whether the target may hold something already. */
  readonly add: boolean;
  /** Called when so many rows of a kind are in the target. */
  readonly moved: (kind: HeldKind, done: number, of: number) => void;
  /** Throws when the move must end. */
  readonly check: () => void;
};
export type MoveOutcome =
  | { readonly kind: 'refused'; readonly problem: string }
  | {
      readonly kind: 'moved';
      readonly source: Counts;
      readonly target: Counts;
      /** Kinds of which the target does not hold what it should. */
      readonly differing: readonly HeldKind[];
    };

/** A row that the target does not take. */
export class NotMovable extends Error {}

const countAll = async (store: Pick<SignalStore, 'moving'>): Promise<Counts> => {
  const counts: [HeldKind, number][] = [];
  for (const kind of heldKinds) counts.push([kind, await store.moving.count(kind)]);
  return Object.fromEntries(counts) as Counts;
};

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? one.toString() : one));

/** Names what a source holds, so that a move that was interrupted is known again, and that of another source or state is not. */
const identityOf = async (source: Pick<SignalStore, 'moving'>, counts: Counts): Promise<string> => {
  const digest = createHash('sha256').update(textOf(counts));
  for (const kind of heldKinds)
    digest.update(textOf((await source.moving.scan(kind, { limit: RECOGNISED, maxBytes: PAGE.maxBytes })).items));
  return digest.digest('base64url').slice(0, 22);
};

/** The member of a batch that holds signals of this kind. */
const signals: { readonly [K in HeldKind]?: (rows: readonly Held[K][]) => Partial<SignalBatch> } = {
  spans: (spans) => ({ spans }),
  logs: (logs) => ({ logs }),
  metrics: (metrics) => ({ metrics }),
  scores: (scores) => ({ scores }),
  feedback: (feedback) => ({ feedback }),
  aspect_notes: (aspectNotes) => ({ aspectNotes }),
};

/** Writes of records, each of which may be done again. */
const records: { readonly [K in HeldKind]?: (target: SignalStore, rows: readonly Held[K][]) => Promise<void> } = {
  datasets: async (target, rows) => {
    for (const { itemCount: _counted, ...dataset } of rows)
      if ((await target.putDataset(dataset)) === undefined)
        throw new NotMovable(
          `dataset ${JSON.stringify(dataset.datasetId)}: another one of project ${JSON.stringify(dataset.project)} in the target has its name, ${JSON.stringify(dataset.name)}; rename or delete it`,
        );
  },
  dataset_items: async (target, rows) => {
    const ofDataset = Map.groupBy(rows, ({ project, datasetId }) => JSON.stringify([project, datasetId]));
    for (const [first, ...rest] of ofDataset.values()) {
      if (first === undefined) continue;
      const { project, datasetId } = first;
      const items = [first, ...rest].map(({ project: _project, datasetId: _dataset, ...item }) => item);
      if ((await target.putItems({ project, datasetId }, items)) === 'no_dataset')
        throw new NotMovable(`dataset ${JSON.stringify(datasetId)} was deleted from the target meanwhile`);
    }
  },
  experiments: async (target, rows) => {
    for (const experiment of rows) await target.putExperiment(experiment);
  },
  saved_views: async (target, rows) => {
    for (const view of rows)
      if ((await target.putView(view)) === undefined)
        throw new NotMovable(
          `saved view ${JSON.stringify(view.viewId)}: project ${JSON.stringify(view.project)} of the target has as many views as it may; delete some`,
        );
  },
  audit: (target, rows) => target.moving.restoreAudit(rows),
  ingest_keys: (target, rows) => target.moving.restoreIngestKeys(rows),
};

/** Moves one kind, page by page. Pages of signals are written under keys of their own, and so once, whenever the move was ended. */
// The kind of the rows is that of their writer.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
const moveKind = async <K extends HeldKind>(
  kind: K,
  { source, target, moved, check }: MoveInput,
  identity: string,
  total: number,
): Promise<void> => {
  const read = (after?: Position): Promise<Page<Held[K]>> =>
    source.moving.scan(kind, { ...PAGE, ...(after === undefined ? {} : { after }) });
  const toBatch = signals[kind];
  const toRecords = records[kind];
  let done = 0;
  let isKnown = true;
  const write = async (rows: readonly Held[K][], after: Position | undefined): Promise<void> => {
    if (toBatch === undefined) return toRecords?.(target, rows);
    const ingestKey = `${MOVE_KEYS}${identity}/${kind}/${(after ?? []).join(',')}`;
    // Of a move that was interrupted the first pages are there.
    isKnown &&= await target.isWritten(ingestKey);
    if (!isKnown) await target.write({ ingestKey, batch: { ...emptyBatch, ...toBatch(rows) } });
  };
  const writeAndCount = async (rows: readonly Held[K][], after: Position | undefined): Promise<void> => {
    await write(rows, after);
    done += rows.length;
    moved(kind, done, total);
  };
  const writing: Promise<void>[] = [];
  /** Waits for the oldest page on its way. */
  const settle = async (most: number): Promise<void> => {
    while (writing.length > most) await writing.shift();
  };
  try {
    let after: Position | undefined;
    for (let next: Promise<Page<Held[K]>> | undefined = read(); next !== undefined; ) {
      const page: Page<Held[K]> = await next;
      check();
      next = page.next === undefined ? undefined : read(page.next);
      next?.catch(() => {}); // met in the next round, or not at all
      if (page.items.length > 0) {
        const written = writeAndCount(page.items, after);
        written.catch(() => {}); // met when it is waited for
        writing.push(written);
        await settle(toBatch === undefined || isKnown ? 0 : PAGES_AT_ONCE - 1);
      }
      after = page.next;
    }
    await settle(0);
  } finally {
    await Promise.allSettled(writing);
  }
};

/**
 * Moves everything that a store holds into another one, of any engine. It may be ended at any moment and started again: what is there
 * already is not written a second time, and a move that was complete changes nothing.
 * @throws NotMovable, or what the stores throw
 */
export const moveStore = async (input: MoveInput): Promise<MoveOutcome> => {
  const { source, target, add, moved } = input;
  const held = await countAll(source);
  const identity = await identityOf(source, held);
  const begun = `${MOVE_KEYS}${identity}/begun`;
  if (!(await target.isWritten(begun))) {
    const there = await countAll(target);
    const kinds = heldKinds.filter((kind) => there[kind] > 0);
    if (kinds.length > 0 && !add)
      return {
        kind: 'refused',
        problem: `the target is not empty: it holds ${kinds.map((kind) => `${there[kind]} ${kind}`).join(', ')}; name an empty one, or add to it with --add`,
      };
    await target.write({ ingestKey: begun, batch: emptyBatch });
  }
  for (const kind of heldKinds) {
    moved(kind, 0, held[kind]);
    if (held[kind] > 0) await moveKind(kind, input, identity, held[kind]);
  }
  const there = await countAll(target);
  const differing = heldKinds.filter((kind) => (add ? there[kind] < held[kind] : there[kind] !== held[kind]));
  return { kind: 'moved', source: held, target: there, differing };
};
