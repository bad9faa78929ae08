import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { DEFAULT_PREFS, type Prefs, parsePrefs } from '../model/prefs.ts';

const SLOT = 'svc-prefs';

type Held = { readonly prefs: Prefs; readonly change: (changed: Partial<Omit<Prefs, 'version'>>) => void };
const Context = createContext<Held>({ prefs: DEFAULT_PREFS, change: () => {} });

/** The reader's preferences, and how to change them. Only the reader changes them: opening a link never does. */
export const usePrefs = (): Held => useContext(Context);

const readStored = (): Prefs => {
  try {
    return parsePrefs(localStorage.getItem(SLOT));
  } catch {
    return DEFAULT_PREFS; // a browser that keeps nothing
  }
};

export const PrefsProvider = ({ children }: { readonly children: ReactNode }) => {
  const [prefs, setPrefs] = useState(readStored);
  useEffect(() => {
    if (prefs.theme === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = prefs.theme;
  }, [prefs.theme]);
  const held = useMemo<Held>(
    () => ({
      prefs,
      change: (changed) => {
        const next = { ...prefs, ...changed };
        setPrefs(next);
        try {
          localStorage.setItem(SLOT, JSON.stringify(next));
        } catch {
          // Kept for this page alone.
        }
      },
    }),
    [prefs],
  );
  return <Context value={held}>{children}</Context>;
};
