/** Sessions and users are rolled up alike. */
export const groupsOf = {
  sessions: { one: 'session', field: 'session_id', title: 'Sessions', name: 'Session' },
  users: { one: 'user', field: 'user_id', title: 'Users', name: 'User' },
} as const;
export type People = keyof typeof groupsOf;

type Erased = {
  readonly runs_erased: number;
  readonly traces_erased: number;
  /** Absent from a service that keeps no views. */
  readonly views_erased?: number;
  readonly deletes_pending: boolean;
  readonly note: string;
};

const counted = (count: number, one: string): string => `${count} ${count === 1 ? one : `${one}s`}`;

/** What an erasure has done, in sentences. */
export const explainErasure = (erased: Erased): readonly string[] => [
  `${counted(erased.runs_erased, 'run')} and ${counted(erased.traces_erased, 'trace')} erased.`,
  ...(erased.views_erased === undefined || erased.views_erased === 0
    ? []
    : [`${counted(erased.views_erased, 'saved view')} that named the person erased.`]),
  erased.deletes_pending ? 'Bytes of traces are still to be removed from the store.' : 'Nothing waits to be removed.',
  erased.note,
];
