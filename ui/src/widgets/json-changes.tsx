import { useMemo } from 'react';
import { jsonPatch } from '../model/json-patch.ts';
import { jsonChanges } from '../model/json-tree.ts';
import { plural } from '../model/units.ts';
import { CopyButton } from './button.tsx';
import { PlainTable } from './plain-table.tsx';

type Change = ReturnType<typeof jsonChanges>['changes'][number];

const columnsOf = ([then, shown]: readonly [string, string]) => [
  { id: 'path', head: 'Path', cell: ({ path }: Change) => <code>{path === '' ? '/' : path}</code> },
  { id: 'then', head: then, cell: ({ before }: Change) => before },
  { id: 'shown', head: shown, cell: ({ after }: Change) => after },
];
const THEN_AND_SHOWN = ['Then', 'Shown'] as const;

/** What differs between two values, path by path, and all of it as a JSON Patch to copy. @param heads of the two columns */
export const JsonChanges = ({
  before,
  after,
  heads = THEN_AND_SHOWN,
}: {
  readonly before: unknown;
  readonly after: unknown;
  readonly heads?: readonly [before: string, after: string];
}) => {
  const { changes, isCut } = useMemo(() => jsonChanges(before, after), [before, after]);
  if (changes.length === 0) return <p>Nothing differs.</p>;
  return (
    <>
      <PlainTable name="Changes" columns={columnsOf(heads)} rows={changes} idOf={({ path }) => path} />
      {isCut && <p>The first {plural(changes.length, 'change')} are shown.</p>}
      {before !== undefined && after !== undefined && (
        <p>
          <CopyButton label="Copy as" text={() => JSON.stringify(jsonPatch(before, after), null, 2)}>
            JSON Patch
          </CopyButton>
        </p>
      )}
    </>
  );
};
