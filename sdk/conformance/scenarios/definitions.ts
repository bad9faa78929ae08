/** Definitions that scenarios store. */

/** One task whose body does what the input of the run says. */
export const oneTask = (id: string, over: object = {}, version = 1): object => ({
  id,
  version,
  steps: [{ id: 'work', kind: 'task', input: '${input}', retry: { backoff_ms: 1 }, ...over }],
});

/** Ends at once, with its input as output. */
export const echo = (id: string): object => ({
  id,
  version: 1,
  steps: [{ id: 'done', kind: 'succeed', output: '${input}' }],
});

/** Waits for the event `go` a number of times, one after the other, then ends with what came last. */
export const waits = (id: string, count: number): object => ({
  id,
  version: 1,
  steps: Array.from({ length: count }, (_, index) => ({
    id: `wait${index + 1}`,
    kind: 'wait_event',
    event: `go${index + 1}`,
    key: '${input.key}',
    accept_parked: true,
  })),
});

/** Fails at once. */
export const fails = (id: string): object => ({
  id,
  version: 1,
  steps: [{ id: 'broken', kind: 'fail', code: 'no_funds', message: 'the account is empty' }],
});
