import type { Shortcut } from './shortcuts.tsx';

/** Goes to the next or last row of the list with the focus, else of the first list of the page. Enter opens it, as any link. */
const move = (by: 1 | -1) => (): void => {
  const focused = document.activeElement;
  const list = focused?.closest('table[aria-rowcount]') ?? document.querySelector('main table[aria-rowcount]');
  const at = focused?.closest('tr[aria-rowindex]')?.getAttribute('aria-rowindex');
  const wanted = at == null ? 'tbody tr[aria-rowindex]' : `tbody tr[aria-rowindex="${Number(at) + by}"]`;
  list?.querySelector<HTMLElement>(`${wanted} :is(a, button)`)?.focus();
};

/** Of every list; a page that moves otherwise has keys of its own before these. */
export const rowShortcuts: readonly Shortcut[] = [
  { keys: 'j', what: 'Next row of the list', run: move(1) },
  { keys: 'k', what: 'Row before', run: move(-1) },
];
