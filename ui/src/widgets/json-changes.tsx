import { useMemo } from 'react';
import { jsonChanges } from '../model/json-tree.ts';
import { plural } from '../model/units.ts';
import { PlainTable } from './plain-table.tsx';

type Change = ReturnType<typeof jsonChanges>['changes'][number];

const columns = [
  { id: 'path', head: 'Path', cell: ({ path }: Change) => <code>{path}</code> },
  { id: 'then', head: 'Then', cell: ({ before }: Change) => before },
  { id: 'shown', head: 'Shown', cell: ({ after }: Change) => after },
];

/** What differs between two values, path by path. */
export const JsonChanges = ({ before, after }: { readonly before: unknown; readonly after: unknown }) => {
  const { changes, isCut } = useMemo(() => jsonChanges(before, after), [before, after]);
  if (changes.length === 0) return <p>Nothing differs.</p>;
  return (
    <>
      <PlainTable name="Changes" columns={columns} rows={changes} idOf={({ path }) => path} />
      {isCut && <p>The first {plural(changes.length, 'change')} are shown.</p>}
    </>
  );
};
