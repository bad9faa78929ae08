import { MOVE_NOTE, type MoveNote, refusalOf } from '../../runs/moving.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import type { Ask } from '../connection.ts';
import { RUNS_SCHEMA } from './schema.ts';

export const readNote = async (ask: Ask): Promise<MoveNote | undefined> => {
  const [held] = await ask<[string]>(`SELECT note FROM ${MOVE_NOTE}`);
  return held === undefined ? undefined : (JSON.parse(held[0]) as MoveNote);
};

/** The caller holds the transaction. */
export const replaceNote = async (ask: Ask, note: MoveNote | undefined): Promise<void> => {
  await ask(`DELETE FROM ${MOVE_NOTE}`);
  if (note !== undefined)
    await ask(`INSERT INTO ${MOVE_NOTE} (kind, note) VALUES ($1, $2)`, [note.kind, JSON.stringify(note)]);
};

/** @throws StoreUnavailable where runs were moved away, or are being moved here */
export const refuseMoved = async (ask: Ask): Promise<void> => {
  const refusal = refusalOf(await readNote(ask));
  if (refusal !== undefined) throw new StoreUnavailable(`${RUNS_SCHEMA.store}: ${refusal}`);
};
