import type { ServerAddress } from '../../store/clickhouse/address.ts';
import { showAddress } from '../../store/clickhouse/address.ts';
import type { ServerFacts } from '../../store/clickhouse/signals/inspect.ts';
import { SIGNALS_SCHEMA } from '../../store/clickhouse/signals/schema.ts';
import type { ProbeOutcome } from '../../store/signals/probe.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import { judgeServices } from './services.ts';
import { judgeSchema, type OpenedDatabase, READ_ONLY_PROBE, sayProbe } from './database.ts';
import { type Finding, fault, ok, skipped, warning } from './finding.ts';

/** What an error of the server says to do, by its number, or by the code of a socket. */
const mends: Readonly<Record<string, string>> = {
  164: 'use a user who may write: readonly = 0',
  193: 'correct user and password of --colstore-user and --colstore-password',
  194: 'correct user and password of --colstore-user and --colstore-password',
  241: 'give the server more memory, or look at what uses it: system.processes',
  243: 'free space on the disk of the server, or shorten --retention-days',
  252: 'the server cannot merge parts as fast as they come: look at system.merges',
  497: 'GRANT SELECT, INSERT, ALTER DELETE, CREATE TABLE on the database of the service to its user',
  516: 'correct user and password of --colstore-user and --colstore-password',
};
const mendOf = (code: string): string => mends[code] ?? 'the log of the server may tell more';

/** What there is to say of a server. */
export const judgeServer = ({ hangingDeletes }: ServerFacts): Finding[] =>
  hangingDeletes.length === 0
    ? []
    : [
        warning(
          `bytes of what was deleted have not gone for a quarter of an hour (${hangingDeletes.join(', ')}); nobody sees them`,
          'look at latest_fail_reason in system.mutations of the server',
        ),
      ];

export const judgeColumnarProbe = (outcome: ProbeOutcome): Finding => sayProbe(outcome, mendOf);

/** Examines the database of the signals: the server, what it still has to delete, and whether a probe span survives. Makes no table. */
export const openColumnar = async (address: ServerAddress, readOnly: boolean): Promise<OpenedDatabase> => {
  const why = 'the signal store could not be read';
  const newest = SIGNALS_SCHEMA.version;
  const { inspectServer } = await import('../../store/clickhouse/signals/inspect.ts');
  try {
    const { facts, reads, probe, close } = await inspectServer(address);
    const { schemaVersion, version } = facts;
    const answers = `${showAddress(address)} answers: ClickHouse ${version}`;
    const ofServer = [...judgeServices(facts.services), ...judgeServer(facts), ...judgeSchema(schemaVersion, newest)];
    if (schemaVersion === 0 || schemaVersion > newest) {
      await close();
      const noTables = schemaVersion === 0 ? [skipped('the tables are not there yet; the first start makes them')] : [];
      return { findings: [ok(answers), ...ofServer, ...noTables], unread: why, close: async () => {} };
    }
    return {
      findings: [
        ok(`${answers}, schema version ${schemaVersion}`),
        readOnly ? READ_ONLY_PROBE : judgeColumnarProbe(await probe()),
        ...ofServer,
      ],
      reads,
      close,
    };
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const code = error.cause instanceof Error && 'code' in error.cause ? String(error.cause.code) : '';
    return { findings: [fault(error.message, mendOf(code))], unread: why, close: async () => {} };
  }
};
