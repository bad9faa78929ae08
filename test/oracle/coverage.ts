/** What the compared histories must have seen between them: each call, each refusal, and each way that a run can take. */
export const mustBeSeen: readonly string[] = [
  ...['start', 'claim', 'serve', 'begin', 'started', 'heartbeat', 'complete', 'fail', 'give back', 'abandon'],
  ...['publish', 'signal', 'cancel', 'pass', 'hop', 'reopen', 'register'],
  ...['pause', 'resume', 'pause definition', 'resume definition'],
]
  .map((name) => `operation ${name}`)
  .concat(
    [
      ...['already_applied', 'run_terminal', 'fenced', 'not_started', 'not_found', 'conflict', 'input_invalid'],
      ...['definition_conflict', 'definition_invalid'],
    ].map((code) => `refused ${code}`),
    ['task', 'wait_event', 'sleep', 'child', 'succeed', 'fail'].map((kind) => `step ${kind}`),
    ['at_least_once', 'at_most_once'].map((mode) => `delivery ${mode}`),
    ['succeeded', 'failed', 'orphaned', 'unservable', 'lapsed', 'cancelled'].map((status) => `attempt ${status}`),
    ['succeeded', 'failed', 'cancelled'].flatMap((status) => [
      `run ${status}`,
      `child ${status}`,
      `collected ${status}`,
    ]),
    ['item refused'],
    ['max_steps', 'run_timeout_ms', 'max_cost_usd', 'max_attempts_total', 'max_cost_usd of a task'].map(
      (limit) => `limit ${limit}`,
    ),
    ['backoff', 'run_timeout', 'sleep', 'start_at', 'wait'].map((name) => `timer ${name}`),
    ['backoff', 'sleep', 'start_at', 'wait'].flatMap((name) => [
      `${name} rests`,
      `${name} fell due while paused`,
      `${name} goes on`,
    ]),
    ['paused at the door of a step', 'paused again', 'paused by name, too', 'an event came while paused'],
    ['paused with its parent', 'resumed with its parent', 'stays paused by name', 'children finished while paused'],
    ['held by its definition', 'admitted'],
    ['retryable', 'rate_limited', 'timeout'].map((cls) => `again after ${cls}`),
    ['fatal', 'timeout', 'orphaned', 'unservable', 'expression', 'cancelled', 'retryable'].map(
      (cls) => `on_error ${cls}`,
    ),
    ['task', 'wait_event', 'sleep', 'child', 'succeed'].map((kind) => `expression in ${kind}`),
    ['event delivered', 'event parked', 'event duplicate', 'parked event taken', 'signal delivered'],
    ['wait for any', 'any of several took a parked event', 'an event that leads on by itself'],
    ['two lines of any come to one', 'expired event id used again', 'taken event sent again a day later'],
    ['orphaned', 'reclaimed', 'the tenth orphan', 'timed out', 'given back', 'unservable memory', 'budget spent'],
    ['revived by heartbeat', 'revived by started', 'started again', 'heartbeat before started'],
    ['complete from offered', 'complete from orphaned', 'fail from offered', 'fail from orphaned'],
    ['claim of several', 'claim of nothing', 'claim cut by max', 'idempotency key used again', 'cancel after the end'],
    ['second visit', 'no branch', 'failing condition', 'for_each over nothing', 'children finished', 'never due'],
    ['wait went on without its event', 'reopen', 'the oldest of several waits', 'the oldest of several parked events'],
    ['not its holder', 'orphaned', 'lapsed', 'failed'].map((why) => `fenced: ${why}`),
  );
