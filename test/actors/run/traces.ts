import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { priceReport } from '../../../src/cli/open-runs.ts';
import { createFinish } from '../../../src/ingest/finish.ts';
import { emptyBatch } from '../../../src/model/signal.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { openSqliteSignalStore } from '../../../src/store/sqlite/signals/open.ts';
import { temporaryFolder } from '../../daemon.ts';
import { createHarness } from '../run-harness.ts';

/** Durable runs beside a trace store that takes their spans, as in the daemon: finished on the way, and priced by its book. */
export const runsBesideTraces = () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let traces: SignalStore;
  const finish = createFinish({ redaction: {} });
  beforeEach(async () => {
    folder = temporaryFolder();
    traces = await openSqliteSignalStore({ path: join(folder.path, 'svc.db') });
  });
  afterEach(async () => {
    await traces.close();
    folder.remove();
  });
  return {
    open: async (definitions: NonNullable<Parameters<typeof createHarness>[0]>['definitions']) => {
      const service = await createHarness({
        definitions: definitions ?? [],
        price: priceReport,
        writeSpans: async (spans) => {
          await traces.write({ batch: finish({ ...emptyBatch, spans }) });
        },
      });
      return {
        ...service,
        /** The trace as it is stored when the outbox is empty. */
        trace: async (traceId: string) => {
          await service.runs.flushOutbox();
          const found = await traces.findTrace(traceId, 'all', true);
          if (found === undefined) throw new Error(`trace ${traceId} is not stored`);
          return found;
        },
        traces: () => traces,
      };
    },
  };
};
