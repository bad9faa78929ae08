import { lazy, Suspense, useState } from 'react';
import css from './dialog.module.css';
import type { DialogProps } from './dialog-popup.tsx';

const load = () => import('./dialog-popup.tsx');
const Popup = lazy(load);

/**
 * Fetches what draws dialogs while the browser has nothing else to do. The first page is drawn without it, and the first
 * dialog opens at once, so that no key that the reader presses next goes to the page below.
 */
export const preloadDialogs = (): void => {
  // A failure shows when a dialog opens; Safari has no idle callback.
  const fetchIt = (): void => void load().catch(() => {});
  if ('requestIdleCallback' in window) requestIdleCallback(fetchIt);
  else setTimeout(fetchIt, 200);
};

/** A dialog with its name, its focus and its way out (Escape). Styles of its content: `dialogCss`. */
export const Dialog = (props: DialogProps) => {
  // Once it was open it stays, closed: the popup gives the focus back by itself.
  const [wasOpen, setWasOpen] = useState(props.isOpen);
  if (props.isOpen && !wasOpen) setWasOpen(true);
  if (!wasOpen) return null;
  return (
    <Suspense>
      <Popup {...props} />
    </Suspense>
  );
};

export { css as dialogCss };
