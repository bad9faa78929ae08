import { api, ask } from '../../api/client.ts';
import { usePaged } from '../../widgets/paged.ts';
import { PeopleList } from './people-list.tsx';
import type { PeopleRow } from './rows.tsx';
import { useListQuery, useOrder } from './use-list-query.ts';

export default function SessionsPage() {
  const order = useOrder();
  const query = { ...useListQuery(), ...order.sorting };
  const paged = usePaged<PeopleRow>(['sessions', query], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/sessions', {
        params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    );
    return { rows: page.sessions.map((row) => ({ ...row, id: row.session_id })), next: page.next_cursor };
  });
  return <PeopleList of="sessions" paged={paged} {...order} />;
}
