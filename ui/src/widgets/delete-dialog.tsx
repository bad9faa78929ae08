import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog, dialogCss } from './dialog.tsx';
import { ProblemNotice } from './states.tsx';

/** Asks before something is deleted for good; what goes with it stands above the field. @param name what has to be typed */
export const DeleteDialog = ({
  title,
  name,
  what,
  affects,
  remove,
  onDeleted,
  onClose,
}: {
  readonly title: string;
  readonly name: string;
  readonly what: string;
  /** What is read again afterwards: the first part of the keys of its queries. */
  readonly affects: string;
  readonly remove: () => Promise<{ readonly deletes_pending: boolean }>;
  readonly onDeleted?: (() => void) | undefined;
  readonly onClose: () => void;
}) => {
  const client = useQueryClient();
  const [typed, setTyped] = useState('');
  const deletion = useMutation({
    mutationFn: remove,
    // Also where it failed: of several, some may be gone.
    onSettled: () => client.invalidateQueries({ queryKey: [affects] }),
  });
  const close = (): void => {
    if (deletion.data !== undefined) onDeleted?.();
    onClose();
  };
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (typed === name) deletion.mutate();
  };
  return (
    <Dialog title={title} isOpen onClose={close}>
      {deletion.data === undefined ? (
        <form onSubmit={submit} autoComplete="off" style={{ display: 'contents' }}>
          <p>{what}</p>
          <label className={dialogCss['field']}>
            Type {name} to confirm
            <input value={typed} spellCheck={false} onChange={({ target }) => setTyped(target.value)} />
          </label>
          {deletion.error !== null && <ProblemNotice error={deletion.error} />}
          <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
            <Button onClick={onClose}>Keep it</Button>
            <Button type="submit" look="danger" disabled={typed !== name || deletion.isPending}>
              Delete
            </Button>
          </div>
        </form>
      ) : (
        <>
          <p role="status">
            {deletion.data.deletes_pending ? 'Deleted; bytes of it are still to be removed.' : 'Deleted.'}
          </p>
          <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
            <Button onClick={close}>Close</Button>
          </div>
        </>
      )}
    </Dialog>
  );
};
