import type { components } from '../../api/types.ts';
import { formatCount, plural } from '../../model/units.ts';
import { dialogCss } from '../../widgets/dialog.tsx';

export type Action = components['schemas']['BulkAction'];

/** What a button or a choice says for an action. */
export const actionWords: Readonly<Record<Action, string>> = {
  cancel: 'Cancel',
  pause: 'Pause',
  resume: 'Resume',
  restart: 'Restart',
  signal: 'Signal',
};

/** Which action. */
export const ActionField = <One extends Action>({
  actions,
  value,
  onChoose,
}: {
  readonly actions: readonly One[];
  readonly value: One;
  readonly onChoose: (action: One) => void;
}) => (
  <label className={dialogCss['field']}>
    Action
    <select value={value} onChange={({ target }) => onChoose(actions.find((one) => one === target.value) ?? value)}>
      {actions.map((one) => (
        <option key={one} value={one}>
          {actionWords[one]}
        </option>
      ))}
    </select>
  </label>
);

/** Why; the form has it as `reason`. */
export const ReasonField = () => (
  <label className={dialogCss['field']}>
    Reason
    <input name="reason" maxLength={4096} />
  </label>
);

/** The number of runs, which has to be typed before they are cancelled. */
export const CountField = ({
  count,
  typed,
  onType,
}: {
  readonly count: number;
  readonly typed: string;
  readonly onType: (typed: string) => void;
}) => (
  <label className={dialogCss['field']}>
    Type {count} to confirm
    <input value={typed} onChange={({ target }) => onType(target.value)} inputMode="numeric" />
  </label>
);

const STATES = { running: 'It goes on: ', done: 'Ended: ', stopped: 'Stopped: ' } as const;

/** How far an action on many runs is. */
export const ActionProgress = ({
  status,
  count,
  done,
  refused,
}: {
  readonly status: keyof typeof STATES;
  readonly count: number;
  readonly done: number;
  readonly refused: number;
}) => (
  <p role="status">
    {STATES[status]}
    {formatCount(done)} of {plural(count, 'run')} done
    {refused > 0 && `, ${formatCount(refused)} refused`}.
  </p>
);
