import { api, ask } from '../../api/client.ts';
import { usePaged } from '../../widgets/paged.ts';
import { PeopleList } from './people-list.tsx';
import type { PeopleRow } from './rows.tsx';
import { useListQuery, useOrder } from './use-list-query.ts';

export default function UsersPage() {
  const order = useOrder();
  const query = { ...useListQuery(), ...order.sorting };
  const paged = usePaged<PeopleRow>(['users', query], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/users', {
        params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    );
    return { rows: page.users.map((row) => ({ ...row, id: row.user_id })), next: page.next_cursor };
  });
  return <PeopleList of="users" paged={paged} {...order} />;
}
