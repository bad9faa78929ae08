/** How long the run of the campaign sleeps. */
export const NAP_MS = 150;

/** What each body reports, and records in no span of its own. */
export const USAGE = {
  model: 'of-the-campaign',
  input_tokens: 90,
  output_tokens: 10,
  cost: 0.001,
  record: true,
} as const;
export const USAGE_TOKENS = 100;

/** Keys of the campaign, all of which are short of room: runs wait for them when the service is killed. */
export const KEYS = {
  kids: { key: 'kids', limit: 3 },
  desk: { key: 'desk', limit: 2 },
  till: { key: 'till', limit: 10, per_ms: 300 },
} as const;

/** A run with a step of each kind. Whatever is killed, it can end, and must. */
export const definitions = [
  { id: 'kid', version: 1, concurrency: KEYS.kids, steps: [{ id: 'work', kind: 'task' }] },
  {
    id: 'load',
    version: 1,
    steps: [
      { id: 'reserve', kind: 'task', input: { n: '${input.n}' }, rate: KEYS.till },
      // An orphan of it cannot be tried again: the run goes on, and the ledger must show one start at most.
      {
        id: 'charge',
        kind: 'task',
        delivery: 'at_most_once',
        on_error: [{ class: 'orphaned', to: 'nap' }],
        next: [{ when: 'input.naps', to: 'nap' }, { to: 'ask' }],
      },
      { id: 'nap', kind: 'sleep', sleep_ms: NAP_MS },
      {
        id: 'ask',
        kind: 'wait_event',
        any: [
          { event: 'go', key: '${input.n}' },
          { event: 'skip', key: '${input.n}', to: 'sub' },
        ],
        accept_parked: true,
      },
      { id: 'sub', kind: 'child', definition: 'kid', for_each: [1, 2], input: { doc: '${item}' } },
      { id: 'finish', kind: 'task', concurrency: KEYS.desk },
    ],
  },
];
