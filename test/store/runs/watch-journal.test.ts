import { createMemoryWatchJournal } from '../../../src/store/runs/memory/watch-journal.ts';
import { watchJournalContract } from './watch-journal-contract.ts';

watchJournalContract('memory', async () => ({ journal: createMemoryWatchJournal(), close: async () => {} }));
