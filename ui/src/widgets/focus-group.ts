import type { MouseEvent } from 'react';

/** For a button that goes when it is pressed: the nearest group with `tabIndex={-1}`, which stays, takes the focus over. */
export const focusGroup = ({ currentTarget }: MouseEvent<HTMLElement>): void =>
  currentTarget.closest<HTMLElement>('[role="group"][tabindex="-1"]')?.focus();
