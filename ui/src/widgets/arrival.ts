import { type RefObject, useEffect } from 'react';

/** The page, in which everything but rail and bar stands. */
export const PAGE_ID = 'page';

let hasMoved = false;
let said = '';
const listeners = new Set<() => void>();

/** The reader went from one page to another. What had the focus may be gone with the first one. */
export const arrive = (): void => {
  hasMoved = true;
  document.getElementById(PAGE_ID)?.focus({ preventScroll: true });
};

/** Says which page this is, once it was gone to: the first one is read by the browser itself. */
export const sayPage = (name: string): void => {
  if (!hasMoved) return;
  said = name;
  for (const listener of listeners) listener();
};

export const saidPage = {
  subscribe: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  },
  read: (): string => said,
};

/** Whether nothing on the page has the focus: what had it is gone. */
const isLost = (): boolean => {
  const { activeElement, body } = document;
  return activeElement === null || activeElement === body || activeElement.id === PAGE_ID;
};

/** Puts a focus that is lost on the heading of the page. */
export const findFocus = (): void => {
  if (isLost()) document.querySelector<HTMLElement>(`#${PAGE_ID} h1`)?.focus({ preventScroll: true });
};

/** A heading takes the focus when its page was gone to, unless the reader has meanwhile put it elsewhere. */
export const useFocusOnArrival = (heading: RefObject<HTMLElement | null>): void => {
  useEffect(() => {
    if (hasMoved && isLost()) heading.current?.focus({ preventScroll: true });
  }, [heading]);
};
