import { type SubmitEvent, useState } from 'react';
import { api, ask } from '../../api/client.ts';
import { Problem } from '../../api/problem.ts';
import { plural, shortId } from '../../model/units.ts';
import { Button, CopyButton } from '../../widgets/button.tsx';
import { CopyCurl } from '../../widgets/copy-curl.tsx';
import { Dialog, dialogCss } from '../../widgets/dialog.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { type Selection, SelectionBar } from '../../widgets/selection.tsx';
import {
  type Action as AnyAction,
  ActionField,
  ActionProgress,
  actionWords,
  CountField,
  ReasonField,
} from './action-fields.tsx';

const ACTIONS = ['cancel', 'pause', 'resume'] as const satisfies readonly AnyAction[];
type Action = (typeof ACTIONS)[number];

const act = (action: Action, run: string, reason: string): Promise<unknown> => {
  const given = { params: { path: { run } }, body: reason === '' ? {} : { reason } };
  switch (action) {
    case 'cancel':
      return ask(api.POST('/v1/api/runs/{run}/cancel', given));
    case 'pause':
      return ask(api.POST('/v1/api/runs/{run}/pause', given));
    default:
      return ask(api.POST('/v1/api/runs/{run}/resume', given));
  }
};

type Progress = {
  readonly isRunning: boolean;
  readonly done: number;
  readonly refused: readonly { readonly run: string; readonly why: string }[];
};

/** Acts on one run after the other; where one refuses, it goes on with the next. */
const ActForm = ({
  ids,
  onClose,
  onDone,
}: {
  readonly ids: readonly string[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}) => {
  const [action, setAction] = useState<Action>('cancel');
  const [typed, setTyped] = useState('');
  const [progress, setProgress] = useState<Progress>();
  const submit = async (event: SubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const given = new FormData(event.currentTarget).get('reason');
    const reason = typeof given === 'string' ? given.trim() : '';
    let state: Progress = { isRunning: true, done: 0, refused: [] };
    for (const run of ids) {
      setProgress(state);
      try {
        await act(action, run, reason);
        state = { ...state, done: state.done + 1 };
      } catch (error) {
        const why = error instanceof Problem ? error.message : String(error);
        state = { ...state, refused: [...state.refused, { run, why }] };
      }
    }
    setProgress({ ...state, isRunning: false });
    onDone();
  };
  const isConfirmed = action !== 'cancel' || typed.trim() === String(ids.length);
  return (
    <form onSubmit={(event) => void submit(event)} style={{ display: 'contents' }}>
      <ActionField actions={ACTIONS} value={action} onChoose={setAction} />
      <ReasonField />
      {action === 'cancel' && <CountField count={ids.length} typed={typed} onType={setTyped} />}
      {progress !== undefined && (
        <>
          <ActionProgress
            status={progress.isRunning ? 'running' : 'done'}
            count={ids.length}
            done={progress.done}
            refused={progress.refused.length}
          />
          {progress.refused.length > 0 && (
            <ul aria-label="Refused">
              {progress.refused.map(({ run, why }) => (
                <li key={run}>
                  <code>{shortId(run.replaceAll('-', '').slice(-12))}</code> {why}
                </li>
              ))}
            </ul>
          )}
        </>
      )}
      <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
        <Button onClick={onClose}>Close</Button>
        <Button
          type="submit"
          look={action === 'cancel' ? 'danger' : 'primary'}
          disabled={!isConfirmed || progress !== undefined}
        >
          {actionWords[action]} {plural(ids.length, 'run')}
        </Button>
      </div>
    </form>
  );
};

/** What can be done with the runs that were chosen in the list. */
export const SelectedRuns = ({
  selection,
  project,
  onDone,
}: {
  readonly selection: Selection;
  readonly project: string | undefined;
  readonly onDone: () => void;
}) => {
  const [isOpen, setOpen] = useState(false);
  const may = useMay('execute', project === '*' ? undefined : project);
  const ids = [...selection.chosen];
  const [a, b] = ids;
  const close = (): void => setOpen(false);
  return (
    <>
      <SelectionBar selection={selection} what="run">
        {ids.length === 2 && a !== undefined && b !== undefined && (
          <PageLink to="/runs/compare" params={{ a, b }}>
            Compare
          </PageLink>
        )}
        <CopyButton text={ids.join('\n')} label="Copy the selected ids">
          Ids
        </CopyButton>
        <CopyCurl paths={ids.map((id) => `/v1/api/runs/${id}`)} />
        <Button disabled={may !== true} onClick={() => setOpen(true)}>
          Act on them…
        </Button>
        <NeedsScope scope="execute" may={may} />
      </SelectionBar>
      <Dialog title="Act on the selected runs" isOpen={isOpen} onClose={close}>
        {isOpen && <ActForm ids={ids} onClose={close} onDone={onDone} />}
      </Dialog>
    </>
  );
};
