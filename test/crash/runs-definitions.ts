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

/** A run of `slow`, `line` or `hasty` is still open when the next time of its schedule comes. */
const DOZE_MS = 1500;

/** Runs with a step of each kind. Whatever is killed, each can end, and must. */
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
  // Fails until it is restarted with other input. The last step reads what the run before had put out.
  {
    id: 'mend',
    version: 1,
    steps: [
      { id: 'prepare', kind: 'task' },
      { id: 'fragile', kind: 'task', input: { broken: '${input.broken}' } },
      { id: 'wrap', kind: 'task', input: { prepared_by: '${steps.prepare.output.by}' } },
    ],
  },
  // Runs that are cancelled, paused or restarted many at once. Those that are broken fail, again when they are restarted.
  {
    id: 'crowd',
    version: 1,
    steps: [
      { id: 'prepare', kind: 'task' },
      { id: 'fragile', kind: 'task', input: { broken: '${input.broken}' } },
      { id: 'ask', kind: 'wait_event', event: 'gate', key: '${input.n}', accept_parked: true },
      { id: 'leave', kind: 'task' },
    ],
  },
  // The definition that is paused and resumed.
  {
    id: 'shop',
    version: 1,
    steps: [
      { id: 'sell', kind: 'task' },
      { id: 'pack', kind: 'task' },
    ],
  },
  // A definition for each schedule: its runs are those that the schedule started.
  { id: 'every', version: 1, steps: [{ id: 'tick', kind: 'task' }] },
  { id: 'cron', version: 1, steps: [{ id: 'tick', kind: 'task' }] },
  { id: 'rests', version: 1, steps: [{ id: 'tick', kind: 'task' }] },
  ...['slow', 'line', 'hasty'].map((id) => ({
    id,
    version: 1,
    steps: [
      { id: 'tick', kind: 'task' },
      { id: 'doze', kind: 'sleep', sleep_ms: DOZE_MS },
    ],
  })),
];
