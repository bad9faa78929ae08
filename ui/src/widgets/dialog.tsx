import { Dialog as Base } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';
import css from './dialog.module.css';

type DialogProps = {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
};

/** A dialog with its name, its focus and its way out (Escape). Styles of its content: `dialogCss`. */
export const Dialog = ({ title, isOpen, onClose, children }: DialogProps) => (
  <Base.Root
    open={isOpen}
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

export { css as dialogCss };
