import { Dialog as Base } from '@base-ui/react/dialog';
import { type ReactNode, useEffect } from 'react';
import { findFocus } from './arrival.ts';
import css from './dialog.module.css';

export type DialogProps = {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
};

/** What `Dialog` draws. Apart from it, because the library behind it is an eighth of the entry, and no page opens with a dialog. */
export default function DialogPopup({ title, isOpen, onClose, children }: DialogProps) {
  // It gives the focus back to what opened it; that may be gone with what was deleted.
  useEffect(() => () => void setTimeout(findFocus), []);
  return (
    <Base.Root
      open={isOpen}
      onOpenChangeComplete={(open) => {
        if (!open) setTimeout(findFocus);
      }}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className={css['backdrop']} />
        <Base.Popup className={css['popup']}>
          <Base.Title className={css['title']}>{title}</Base.Title>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
