import { type SubmitEvent, useMemo, useState } from 'react';
import { rangeName, ranges, withZone } from '../../model/time-range.ts';
import { Button } from '../../widgets/button.tsx';
import { Dialog, dialogCss } from '../../widgets/dialog.tsx';
import { useShared } from '../../widgets/page-state.ts';
import { type Shortcut, useShortcuts } from '../../widgets/shortcuts.tsx';

const CUSTOM = 'custom';

/** Which time the page speaks of: relative times stay relative in the address. */
export const TimeRange = () => {
  const [{ from, to }, setShared] = useShared();
  const [isOpen, setOpen] = useState(false);
  const shortcuts = useMemo<Shortcut[]>(() => [{ keys: 'T', what: 'Choose the time', run: () => setOpen(true) }], []);
  useShortcuts(shortcuts);
  const known = to === undefined ? ranges.find((range) => range.from === (from ?? '')) : undefined;

  const use = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const read = (name: string): string | undefined => {
      const given = form.get(name);
      return typeof given === 'string' ? withZone(given) : undefined;
    };
    setShared({ from: read('from'), to: read('to') }, 'push');
    setOpen(false);
  };
  return (
    <>
      <label>
        Time
        <select
          value={known === undefined ? CUSTOM : known.from}
          onChange={({ target }) =>
            target.value === CUSTOM
              ? setOpen(true)
              : setShared({ from: target.value || undefined, to: undefined }, 'push')
          }
        >
          {ranges.map((range) => (
            <option key={range.from} value={range.from}>
              {range.name}
            </option>
          ))}
          <option value={CUSTOM}>{known === undefined ? rangeName(from, to) : 'Other…'}</option>
        </select>
      </label>
      <Dialog title="Time" isOpen={isOpen} onClose={() => setOpen(false)}>
        <form onSubmit={use} style={{ display: 'contents' }}>
          <p>
            A time such as <code>2026-11-20T09:00:00Z</code>, or one before now such as <code>-36h</code> (s, m, h, d,
            w).
          </p>
          <label className={dialogCss['field']}>
            From
            <input name="from" defaultValue={from ?? ''} spellCheck={false} />
          </label>
          <label className={dialogCss['field']}>
            To
            <input name="to" defaultValue={to ?? ''} placeholder="now" spellCheck={false} />
          </label>
          <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
            <Button onClick={() => setOpen(false)}>Close</Button>
            <Button type="submit" look="primary">
              Use
            </Button>
          </div>
        </form>
      </Dialog>
    </>
  );
};
