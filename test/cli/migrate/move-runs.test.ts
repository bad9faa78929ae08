import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type MoveRunsOutcome, moveRuns } from '../../../src/cli/migrate/move-runs.ts';
import { heldTables, refusalOf, type RunMoving } from '../../../src/store/runs/moving.ts';
import { openSqliteRunStore, type SqliteRunStore } from '../../../src/store/sqlite/runs/open.ts';
import { AT } from '../../store/runs/factories.ts';
import { everyRow, fillEveryKind } from '../../store/runs/every-row.ts';

const folder = mkdtempSync(join(tmpdir(), 'move-runs-'));
afterAll(() => rmSync(folder, { recursive: true }));
const aPath = (): string => join(folder, `${crypto.randomUUID()}.db`);

const opened: SqliteRunStore[] = [];
const closeAll = async (): Promise<void> => {
  for (const store of opened.splice(0)) await store.close();
};
afterEach(closeAll);
const open = async (path: string, how: { readonly moves?: true } = { moves: true }): Promise<SqliteRunStore> => {
  const store = await openSqliteRunStore({ path, ...how });
  opened.push(store);
  return store;
};
/** A file with rows of every kind, closed. */
const aSource = async (runs = 0): Promise<string> => {
  const path = aPath();
  await fillEveryKind(await open(path), runs);
  await closeAll();
  return path;
};

class Ended extends Error {}
/** A store that ends the move at its nth call. */
const endingAt = (store: RunMoving, calls: { left: number }): RunMoving => {
  const counting = <A extends unknown[], T>(method: (...args: A) => Promise<T>): ((...args: A) => Promise<T>) => {
    return async (...args) => {
      if ((calls.left -= 1) < 0) throw new Ended();
      return method(...args);
    };
  };
  return {
    count: counting((kind) => store.count(kind)),
    scan: counting((kind, after) => store.scan(kind, after, 2, 1e6)),
    restore: counting((kind, rows, note) => store.restore(kind, rows, note)),
    readNote: counting(() => store.readNote()),
    writeNote: counting((note) => store.writeNote(note)),
  };
};
const move = (source: RunMoving, target: RunMoving): Promise<MoveRunsOutcome> =>
  moveRuns({ source, target, from: 'here', to: 'there', moved: () => {}, check: () => {} });

describe('moveRuns', () => {
  it('copies rows of every kind, in pages of one row and of a thousand', async () => {
    const [source, target] = [await open(await aSource(1_500)), await open(aPath())];
    const rows = await everyRow(source.moving);
    for (const { kind } of heldTables) expect(rows[kind].length, kind).toBeGreaterThan(0);
    expect(await everyRow(source.moving, { limit: 1, maxBytes: 1 })).toEqual(rows);
    const outcome = await move(source.moving, target.moving);
    expect(outcome).toMatchObject({ kind: 'moved', differing: [] });
    expect(await everyRow(target.moving)).toEqual(rows);
  });

  it('goes on wherever it was ended, and at no moment may both sides be started, or the target before it is whole', async () => {
    const [path, targets] = [await aSource(), aPath()];
    const [source, target] = [await open(path), await open(targets)];
    const rows = await everyRow(source.moving);
    const mayStart = async ({ moving }: SqliteRunStore): Promise<boolean> =>
      refusalOf(await moving.readNote()) === undefined;
    let last: MoveRunsOutcome | undefined;
    for (let calls = 3; last === undefined; calls += 2) {
      const left = { left: calls };
      try {
        last = await move(endingAt(source.moving, left), endingAt(target.moving, left));
      } catch (error) {
        if (!(error instanceof Ended)) throw error;
      }
      const arrived = await everyRow(target.moving);
      const isEmpty = heldTables.every(({ kind }) => arrived[kind].length === 0);
      if (!isEmpty && (await mayStart(target))) {
        expect(arrived).toEqual(rows);
        expect(await mayStart(source)).toBe(false);
      }
    }
    expect(last).toMatchObject({ kind: expect.stringMatching(/^moved/) });
    expect(await everyRow(target.moving)).toEqual(rows);
    expect(await move(source.moving, target.moving)).toEqual({ kind: 'moved_before' });
    expect(await everyRow(target.moving)).toEqual(rows);
    await closeAll();
    await expect(open(path, {})).rejects.toThrow(/its runs were moved to there/);
    await (await open(targets, {})).resume(AT);
  });

  it('refuses to go on once a service moved the runs of the source, and no service starts on the part that arrived', async () => {
    const [path, targets] = [await aSource(), aPath()];
    const left = { left: 40 };
    const [source, target] = [await open(path), await open(targets)];
    await expect(move(endingAt(source.moving, left), endingAt(target.moving, left))).rejects.toBeInstanceOf(Ended);
    await closeAll();
    await expect(open(targets, {})).rejects.toThrow(/from here has not come to its end/);
    await (await open(path, {})).resume(AT);
    await closeAll();
    expect(await move((await open(path)).moving, (await open(targets)).moving)).toEqual({
      kind: 'refused',
      problem: expect.stringContaining('the target holds a part of a move'),
    });
  });

  it('refuses a target that is not empty, or that runs were moved from, and a source that is such a part', async () => {
    const [first, second] = [await aSource(), await aSource()];
    const [one, two, three] = [await open(first), await open(second), await open(aPath())];
    expect(await move(one.moving, two.moving)).toEqual({
      kind: 'refused',
      problem: expect.stringContaining('the target is not empty: it holds 2 definitions, 2 workers, 2 runs'),
    });
    expect(await move(one.moving, three.moving)).toMatchObject({ kind: 'moved' });
    expect(await move(two.moving, one.moving)).toMatchObject({
      problem: 'the runs of the target were moved to there; name an empty one',
    });
    expect(await move(one.moving, two.moving)).toMatchObject({ kind: 'moved_before' });
    const part = await open(aPath());
    const left = { left: 40 };
    await expect(move(endingAt(two.moving, left), endingAt(part.moving, left))).rejects.toBeInstanceOf(Ended);
    expect(await move(part.moving, (await open(aPath())).moving)).toMatchObject({
      problem: expect.stringContaining('the source holds a part of a move'),
    });
  });
});
