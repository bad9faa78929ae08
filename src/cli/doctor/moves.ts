import { type MoveNote, refusalOf } from '../../store/runs/moving.ts';
import { type Finding, fault } from './finding.ts';

/** What a store says of a move of its runs, where that keeps a service from starting on it. */
export const judgeMove = (note: MoveNote | undefined): Finding[] => {
  const refusal = refusalOf(note);
  return refusal === undefined ? [] : [fault(refusal, 'see "Moving from one to the other" in docs/engines.md')];
};
