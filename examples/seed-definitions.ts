/** Exports of invoices: one at a time for each customer, so that the others wait in its line. */
export const invoices = {
  id: 'seed-export',
  version: 1,
  concurrency: { key: '${input.customer}', limit: 1 },
  steps: [{ id: 'released', kind: 'wait_event' as const, event: 'released', key: '${input.month}' }],
};

/** Reminders: one an hour for each customer, so that the others wait until there is room again. */
export const reminders = {
  id: 'seed-reminder',
  version: 1,
  rate: { key: '${input.customer}', limit: 1, per_ms: 3_600_000 },
  steps: [{ id: 'sent', kind: 'succeed' as const, output: { customer: '${input.customer}' } }],
};

/** A statement, page by page: one page is read, one cannot be, one waits for a signature, and the run waits for all. */
export const statements = [
  {
    id: 'seed-page',
    version: 1,
    steps: [
      {
        id: 'scan',
        kind: 'sleep' as const,
        sleep_ms: 1,
        next: [
          { when: 'input.page == 2', to: 'unreadable' },
          { when: 'input.page == 3', to: 'signature' },
          { to: 'read' },
        ],
      },
      { id: 'read', kind: 'succeed' as const, output: { page: '${input.page}' } },
      { id: 'unreadable', kind: 'fail' as const, code: 'unreadable', message: 'page ${input.page} is blank' },
      { id: 'signature', kind: 'wait_event' as const, event: 'signed', key: '${input.customer}', next: 'read' },
    ],
  },
  {
    id: 'seed-statement',
    version: 1,
    steps: [
      {
        id: 'pages',
        kind: 'child' as const,
        definition: 'seed-page',
        for_each: '${input.pages}',
        input: { page: '${item}', customer: '${input.customer}' },
        on_item_error: 'collect' as const,
      },
    ],
  },
];
