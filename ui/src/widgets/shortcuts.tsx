import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { usePrefs } from './prefs.tsx';
import css from './shortcuts.module.css';

/** Keys by what `KeyboardEvent.key` calls them; a sequence has a space: `g t`. With control or command: `mod+k`. */
export type Shortcut = { readonly keys: string; readonly what: string; readonly run: () => void };

type Registry = { readonly add: (shortcuts: readonly Shortcut[], isBehind: boolean) => () => void };
const Context = createContext<Registry>({ add: () => () => {} });

/** A sequence that is not finished by then is forgotten. */
const SEQUENCE_MS = 1200;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Enter and space on a control are the control's own: a page that takes them would leave it without a way to be used by key. */
const isActivating = ({ key, target }: KeyboardEvent): boolean =>
  (key === 'Enter' || key === ' ') && target instanceof Element && target.closest('a[href], button, summary') !== null;

/**
 * Shortcuts of whatever is on the screen, while it is. What was added last goes first.
 * @param shortcuts memoised by the caller
 * @param isBehind those of all others go first, whenever they are added
 */
export const useShortcuts = (shortcuts: readonly Shortcut[], isBehind = false): void => {
  const registry = useContext(Context);
  useEffect(() => registry.add(shortcuts, isBehind), [registry, shortcuts, isBehind]);
};

export const ShortcutsProvider = ({ children }: { readonly children: ReactNode }) => {
  const groups = useRef<(readonly Shortcut[])[]>([]);
  const [help, setHelp] = useState<readonly Shortcut[] | undefined>();
  const isOn = usePrefs().prefs.shortcuts;
  const registry = useMemo<Registry>(
    () => ({
      add: (shortcuts, isBehind) => {
        groups.current = isBehind ? [...groups.current, shortcuts] : [shortcuts, ...groups.current];
        return () => {
          groups.current = groups.current.filter((group) => group !== shortcuts);
        };
      },
    }),
    [],
  );
  useEffect(() => {
    let before = { key: '', at: 0 };
    const onKey = (event: KeyboardEvent): void => {
      const isModified = event.ctrlKey || event.metaKey;
      if (event.defaultPrevented || event.altKey || event.isComposing || isActivating(event)) return;
      if (!isModified && (!isOn || isTyping(event.target) || document.querySelector('[role=dialog]') !== null)) return;
      const pressed = isModified ? `mod+${event.key.toLowerCase()}` : event.key;
      const sequence = event.timeStamp - before.at < SEQUENCE_MS ? `${before.key} ${pressed}` : undefined;
      const all = groups.current.flat();
      const found = all.find(({ keys }) => keys === sequence) ?? all.find(({ keys }) => keys === pressed);
      before = { key: pressed, at: event.timeStamp };
      if (found !== undefined) {
        event.preventDefault();
        found.run();
      } else if (pressed === '?')
        setHelp(all.filter(({ keys }, at) => all.findIndex((one) => one.keys === keys) === at));
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [isOn]);
  return (
    <Context value={registry}>
      {children}
      <Dialog title="Keyboard" isOpen={help !== undefined} onClose={() => setHelp(undefined)}>
        <div>
          <Button onClick={() => setHelp(undefined)}>Close</Button>
        </div>
        <dl className={css['list']}>
          {[{ keys: '?', what: 'This help' }, ...(help ?? [])].map(({ keys, what }) => (
            <div key={`${keys} ${what}`}>
              <dt>
                {(keys === ' ' ? ['Space'] : keys.split(' ')).map((key, index) => (
                  <kbd key={`${index}${key}`}>{key.replace('mod+', 'Ctrl ')}</kbd>
                ))}
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
      </Dialog>
    </Context>
  );
};
