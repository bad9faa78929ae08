import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { api, ask } from '../../api/client.ts';
import { explainErasure } from '../../model/people.ts';
import { Button } from '../../widgets/button.tsx';
import { Dialog, dialogCss } from '../../widgets/dialog.tsx';
import { ProblemNotice } from '../../widgets/states.tsx';
import css from './people.module.css';

/** Erases a person's finished runs. The id is typed before anything happens, and what was done is said after it. */
export const EraseDialog = ({
  userId,
  isOpen,
  onClose,
}: {
  readonly userId: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}) => {
  const client = useQueryClient();
  const [typed, setTyped] = useState('');
  const erase = useMutation({
    mutationFn: () => ask(api.DELETE('/v1/api/subjects/{user_id}', { params: { path: { user_id: userId } } })),
    onSuccess: () => client.invalidateQueries(),
  });
  const close = (): void => {
    setTyped('');
    erase.reset();
    onClose();
  };
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (typed === userId) erase.mutate();
  };
  return (
    <Dialog title={`Erase ${userId}`} isOpen={isOpen} onClose={close}>
      {erase.data === undefined ? (
        <form onSubmit={submit} autoComplete="off" style={{ display: 'contents' }}>
          <p>In every project that this key reaches, this deletes for good:</p>
          <ul className={css['list']}>
            <li>
              finished durable runs whose <code>user_id</code> was this when they started, with their child runs and all
              that is stored about them;
            </li>
            <li>the traces of those runs;</li>
            <li>saved views whose addresses name that person.</li>
          </ul>
          <p>
            It leaves unfinished runs unchanged and counts them. It does not reach traces that belong to no durable run,
            nor parked events, which expire within 24 hours.
          </p>
          <label className={dialogCss['field']}>
            Type the user id to confirm
            <input value={typed} spellCheck={false} onChange={({ target }) => setTyped(target.value)} />
          </label>
          {erase.error !== null && <ProblemNotice error={erase.error} />}
          <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
            <Button onClick={close}>Keep everything</Button>
            <Button type="submit" look="danger" disabled={typed !== userId || erase.isPending}>
              Erase
            </Button>
          </div>
        </form>
      ) : (
        <>
          <div role="status">
            <ul className={css['list']}>
              {explainErasure(erase.data).map((sentence) => (
                <li key={sentence}>{sentence}</li>
              ))}
            </ul>
          </div>
          <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
            <Button onClick={close}>Close</Button>
          </div>
        </>
      )}
    </Dialog>
  );
};
