import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Bookmark } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import { api, ask } from '../../api/client.ts';
import { homeOf } from '../../model/prefs.ts';
import { Button } from '../../widgets/button.tsx';
import { Dialog, dialogCss } from '../../widgets/dialog.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { useShared } from '../../widgets/page-state.ts';
import { usePrefs } from '../../widgets/prefs.tsx';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { ProblemNotice } from '../../widgets/states.tsx';
import { pages } from '../pages.ts';

/** A page of the rail opens as the reader likes it. This browser keeps that; it needs no scope. */
const DefaultView = () => {
  const { prefs, change } = usePrefs();
  const { pathname, search } = location;
  const name = pages.find(({ path }) => path === pathname)?.rail?.name;
  if (name === undefined) return null;
  const home = homeOf(search);
  const kept = prefs.homes[pathname];
  const { [pathname]: _ended, ...others } = prefs.homes;
  return (
    <div className={dialogCss['row']}>
      <span>
        {kept === undefined
          ? `From the rail, ${name} opens without filters.`
          : kept === home
            ? `From the rail, ${name} opens like this.`
            : `From the rail, ${name} opens as you chose before.`}
      </span>
      {kept !== home && home !== '' && (
        <Button onClick={() => change({ homes: { ...prefs.homes, [pathname]: home } })}>Set as my default</Button>
      )}
      {kept !== undefined && <Button onClick={() => change({ homes: others })}>End my default</Button>}
    </div>
  );
};

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
              <input name="name" value={name} maxLength={100} onChange={({ target }) => setName(target.value)} />
            </label>
            <DefaultView />
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
