/**
 * The reader's key. It lives in this tab's memory; when asked, in `sessionStorage`, which goes when the tab goes. It never
 * enters an address, `localStorage` or a log.
 */
const SLOT = 'svc-key';

let key = sessionStorage.getItem(SLOT) ?? '';
const listeners = new Set<() => void>();

export const presentedKey = (): string => key;
export const isKeyKept = (): boolean => sessionStorage.getItem(SLOT) !== null;

/** @param keep also over reloads of this tab */
export const presentKey = (given: string, keep: boolean): void => {
  key = given.trim();
  if (keep && key !== '') sessionStorage.setItem(SLOT, key);
  else sessionStorage.removeItem(SLOT);
  for (const listener of listeners) listener();
};

export const onKeyChange = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
