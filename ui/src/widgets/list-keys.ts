import type { Shortcut } from './shortcuts.tsx';

/** Goes to the next or last row of the list with the focus, else of the first list of the page. Enter opens it, as any link. */
const move = (by: 1 | -1) => (): void => {
  const focused = document.activeElement;
  const list = focused?.closest('table[aria-rowcount]') ?? document.querySelector('main table[aria-rowcount]');
  const at = focused?.closest('tr[aria-rowindex]')?.getAttribute('aria-rowindex');
  const wanted = at == null ? 'tbody tr[aria-rowindex]' : `tbody tr[aria-rowindex="${Number(at) + by}"]`;
  list?.querySelector<HTMLElement>(`${wanted} :is(a, button)`)?.focus();
};

/** Chooses the row with the focus, or the one on which the reader stands, where rows of the list can be chosen. */
const choose = (): void => {
  const row =
    document.activeElement?.closest('tr[aria-rowindex]') ??
    document.querySelector('main table[aria-rowcount] tr[aria-current]');
  row?.querySelector<HTMLInputElement>('input[type="checkbox"]')?.click();
};

/** Where a page is searched, or else filtered; the first that is seen. */
const FIELDS = ['main input[type="search"]', 'main [role="group"][aria-label="Filters"] :is(input, select)'] as const;

const find = (): void =>
  FIELDS.flatMap((fields) => [...document.querySelectorAll<HTMLElement>(fields)])
    .find((field) => field.checkVisibility())
    ?.focus();

/** Of every list; a page that moves otherwise has keys of its own before these. */
export const listShortcuts: readonly Shortcut[] = [
  { keys: '/', what: 'Search or filter what the page shows', run: find },
  { keys: 'j', what: 'Next row of the list', run: move(1) },
  { keys: 'k', what: 'Row before', run: move(-1) },
  { keys: 'x', what: 'Select the row, or deselect it', run: choose },
];
