import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Bookmark } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import { api, ask } from '../../api/client.ts';
import { Button } from '../../widgets/button.tsx';
import { Dialog, dialogCss } from '../../widgets/dialog.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { useShared } from '../../widgets/page-state.ts';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { ProblemNotice } from '../../widgets/states.tsx';

/** Keeps the page as it stands under a name, for all who read the project. */
export const SaveView = () => {
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const [{ project }] = useShared();
  const owner = project === '*' ? undefined : project;
  const may = useMay('write', owner);
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: () =>
      ask(
        api.POST('/v1/api/views', {
          body: {
            name: name.trim(),
            path: location.pathname + location.search,
            ...(owner === undefined ? {} : { project: owner }),
          },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: ['views'] }),
  });
  const close = (): void => {
    setOpen(false);
    setName('');
    save.reset();
  };
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (name.trim() !== '') save.mutate();
  };
  return (
    <>
      <Button look="plain" aria-label="Save view" title="Save this view under a name" onClick={() => setOpen(true)}>
        <Bookmark size={16} aria-hidden />
      </Button>
      <Dialog title="Save view" isOpen={isOpen} onClose={close}>
        {save.data === undefined ? (
          <form onSubmit={submit} autoComplete="off" style={{ display: 'contents' }}>
            <p>All who may read the project see it, with what its address says: filters, searches, ids.</p>
            <label className={dialogCss['field']}>
              Name of the view
              <input value={name} maxLength={100} onChange={({ target }) => setName(target.value)} />
            </label>
            {save.error !== null && <ProblemNotice error={save.error} />}
            <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
              <NeedsScope scope="write" may={may} />
              <Button onClick={close}>Close</Button>
              <Button type="submit" look="primary" disabled={name.trim() === '' || save.isPending || may === false}>
                Save
              </Button>
            </div>
          </form>
        ) : (
          <>
            <p role="status">
              “{save.data.name}” is kept. <PageLink to="/boards">Views and boards</PageLink>
            </p>
            <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
              <Button onClick={close}>Close</Button>
            </div>
          </>
        )}
      </Dialog>
    </>
  );
};
