import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ClickHouseError } from '@clickhouse/client';
import { describe, expect, it } from 'vitest';
import { describeError } from '../../../src/cli/logger.ts';
import { judgeError } from '../../../src/store/clickhouse/driver-error.ts';
import { openClickHouseSignalStore } from '../../../src/store/clickhouse/signals/open.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';

const saidBy = (code: string): unknown =>
  judgeError(
    'signal store',
    new ClickHouseError({ message: "Cannot parse 'canary' in SELECT 'canary' ", code, type: 'CANARY' }),
  );

describe('what is told of an error of ClickHouse', () => {
  it.each(['27', '60', '62', '159', '241', '516', '745'])('error %s: its number, and no word of the server', (code) => {
    const error = saidBy(code);
    expect((error as Error).message).toContain(`(${code})`);
    expect(JSON.stringify(describeError(error))).not.toMatch(/canary/i);
  });

  it.each(['159', '160', '202', '241', '252', '735', '745', '243', '516'])('error %s may pass', (code) => {
    expect(saidBy(code)).toBeInstanceOf(StoreUnavailable);
  });
  it.each(['27', '47', '62'])('error %s is a bug, known by its number', (code) => {
    expect(saidBy(code)).not.toBeInstanceOf(StoreUnavailable);
    expect(saidBy(code)).toMatchObject({ code });
  });

  it('an answer of a proxy is no bug of the service, and is not repeated', async () => {
    const proxy = createServer((_request, response) => {
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>canary</h1>');
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      const url = new URL(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
      const error: unknown = await openClickHouseSignalStore({ address: { url, database: 'd', user: 'u' } }).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(StoreUnavailable);
      expect((error as Error).message).toBe('signal store: what answers is not ClickHouse; is it a proxy?');
      expect(JSON.stringify(describeError(error))).not.toContain('canary');
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });
});
