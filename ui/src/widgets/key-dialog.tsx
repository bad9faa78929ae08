import { useQueryClient } from '@tanstack/react-query';
import {
  createContext,
  type ReactNode,
  type SubmitEvent,
  useContext,
  useMemo,
  useState,
  useSyncExternalStore,
} from 'react';
import { isKeyKept, onKeyChange, presentedKey, presentKey } from '../api/key.ts';
import { Button } from './button.tsx';
import { Dialog, dialogCss } from './dialog.tsx';

type KeyDialog = { readonly open: () => void; readonly hasKey: boolean };
const Context = createContext<KeyDialog>({ open: () => {}, hasKey: false });

export const useKeyDialog = (): KeyDialog => useContext(Context);

/** Asks for the reader's key. It goes to this service alone, in a header. */
export const KeyDialogProvider = ({ children }: { readonly children: ReactNode }) => {
  const [isOpen, setOpen] = useState(false);
  const client = useQueryClient();
  const hasKey = useSyncExternalStore(onKeyChange, () => presentedKey() !== '');
  const held = useMemo(() => ({ open: () => setOpen(true), hasKey }), [hasKey]);

  const use = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const given = form.get('key');
    presentKey(typeof given === 'string' ? given : '', form.get('keep') !== null);
    setOpen(false);
    void client.resetQueries();
  };
  return (
    <Context value={held}>
      {children}
      <Dialog title="Key" isOpen={isOpen} onClose={() => setOpen(false)}>
        <form onSubmit={use} autoComplete="off" style={{ display: 'contents' }}>
          <p>
            Pages that read need a key with the <code>read</code> scope; actions name the scope that they need. The key
            stays in this tab’s memory.
          </p>
          <label className={dialogCss['field']}>
            Key
            <input name="key" type="password" spellCheck={false} autoComplete="off" defaultValue={presentedKey()} />
          </label>
          <label className={dialogCss['check']}>
            <input name="keep" type="checkbox" defaultChecked={isKeyKept()} />
            Keep it over reloads, until this tab closes
          </label>
          <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
            <Button onClick={() => setOpen(false)}>Close</Button>
            <Button type="submit" look="primary">
              Use
            </Button>
          </div>
        </form>
      </Dialog>
    </Context>
  );
};
