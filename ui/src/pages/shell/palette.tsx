import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useId, useMemo, useState } from 'react';
import { paramsOfHome } from '../../model/prefs.ts';
import { keepShared, type Params } from '../../model/url.ts';
import { Dialog } from '../../widgets/dialog.tsx';
import { usePrefs } from '../../widgets/prefs.tsx';
import { pages } from '../pages.ts';
import css from './palette.module.css';

const OPEN = 'svc-palette';

export const openPalette = (): void => {
  document.dispatchEvent(new Event(OPEN));
};

type Command = { readonly name: string; readonly to: string; readonly params?: Params };

const TRACE_ID = /^[0-9a-f]{32}$/;
const RUN_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const pageCommands = pages.flatMap(({ path, rail }): Command[] =>
  rail === undefined ? [] : [{ name: `Go to ${rail.name}`, to: path }],
);

/** What the given text may mean: an id, a page, a search. */
const commandsFor = (given: string): readonly Command[] => {
  const wanted = given.trim();
  const id = wanted.toLowerCase();
  const words = id.split(/\s+/);
  return [
    ...(TRACE_ID.test(id) ? [{ name: `Open trace ${id}`, to: `/traces/${id}` }] : []),
    ...(RUN_ID.test(id) ? [{ name: `Open run ${id}`, to: `/runs/${id}` }] : []),
    ...pageCommands.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word))),
    ...(wanted === '' ? [] : [{ name: `Search traces for “${wanted}”`, to: '/traces', params: { q: wanted } }]),
  ];
};

/** Goes to a page, to an object by its id, or to a search, by a few letters. */
export const Palette = () => {
  const [isOpen, setOpen] = useState(false);
  const [given, setGiven] = useState('');
  const [index, setIndex] = useState(0);
  const id = useId();
  const navigate = useNavigate();
  const { prefs } = usePrefs();
  useEffect(() => {
    const open = (): void => {
      setGiven('');
      setIndex(0);
      setOpen(true);
    };
    document.addEventListener(OPEN, open);
    return () => document.removeEventListener(OPEN, open);
  }, []);
  const commands = useMemo(() => commandsFor(given), [given]);
  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    setOpen(false);
    void navigate({
      to: command.to,
      search: (before: Params) => ({
        ...keepShared(before),
        ...(command.params ?? paramsOfHome(prefs, command.to)),
      }),
    });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setIndex((at) => Math.min(Math.max(at + step, 0), Math.max(commands.length - 1, 0)));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      run(commands[index]);
    }
  };
  return (
    <Dialog title="Command palette" isOpen={isOpen} onClose={() => setOpen(false)}>
      <input
        role="combobox"
        aria-label="Command, id or words to search for"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={commands.length === 0 ? undefined : `${id}-${index}`}
        placeholder="A page, an id, or words to search for"
        value={given}
        spellCheck={false}
        onChange={(event) => {
          setGiven(event.target.value);
          setIndex(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={id} aria-label="Commands" className={css['list']}>
        {commands.map((command, at) => (
          <div
            key={command.name}
            id={`${id}-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={at === index}
            className={css['option']}
            onClick={() => run(command)}
            onKeyDown={onKeyDown}
          >
            {command.name}
          </div>
        ))}
      </div>
    </Dialog>
  );
};
