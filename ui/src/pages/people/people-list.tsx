import { groupsOf, type People } from '../../model/people.ts';
import { plural } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { DataTable, type Sorting } from '../../widgets/data-table.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { type Paged } from '../../widgets/paged.ts';
import { useShared } from '../../widgets/page-state.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { columnsOf, type PeopleRow } from './rows.tsx';

const COLUMNS = {
  sessions: columnsOf('Session', '/sessions'),
  users: columnsOf('User', '/users'),
} as const;

/** Traces rolled up by session or by user; by default the one seen last first. */
export const PeopleList = ({
  of,
  paged,
  sorting,
  onSort,
}: {
  readonly of: People;
  readonly paged: Paged<PeopleRow>;
  readonly sorting: Sorting;
  readonly onSort: (sorting: Sorting) => void;
}) => {
  const [{ from, to, environment }, setShared] = useShared();
  const { title, one, field } = groupsOf[of];
  return (
    <>
      <PageHead title={title}>
        {environment !== undefined && <span>The environment of the bar on top does not narrow this list.</span>}
      </PageHead>
      <Loaded query={paged} what={title.toLowerCase()}>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title={`No ${of}`}>
              <p>
                No trace {from === undefined && to === undefined ? '' : 'in this window '}says a <code>{field}</code>.
              </p>
              {(from !== undefined || to !== undefined) && (
                <Button onClick={() => setShared({ from: undefined, to: undefined }, 'push')}>Any time</Button>
              )}
            </EmptyState>
          ) : (
            <DataTable
              name={title}
              columns={COLUMNS[of]}
              rows={rows}
              idOf={({ project, id }) => `${project} ${id}`}
              sorting={sorting}
              onSort={onSort}
              onEnd={paged.more}
              foot={`${plural(rows.length, one)} shown${paged.hasMore ? '; scroll for more' : ''}`}
            />
          )
        }
      </Loaded>
    </>
  );
};
