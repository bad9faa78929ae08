import type { ProbeOutcome } from '../../store/signals/probe.ts';
import type { DatabaseFacts, DatabaseInspection } from '../../store/postgres/signals/inspect.ts';
import { SCHEMA_VERSION } from '../../store/postgres/signals/schema.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import { databaseOf } from '../config.ts';
import type { Examined, SignalReads } from './deployment.ts';
import { type Finding, fault, ok, skipped, warning } from './finding.ts';
import { judgeServices } from './services.ts';

/** An examined database and how to let go of it. */
export type OpenedDatabase = Examined<SignalReads> & { readonly close: () => Promise<void> };

const UNREAD = 'the signal store could not be read';

/** The releases of PostgreSQL that the store is made for. */
const OLDEST_RELEASE = 14;
const NEWEST_RELEASE = 18;
const RELEASE = 10_000;

export const READ_ONLY_PROBE = skipped(
  'no probe span was written (--read-only): that the database answers proves that it can be read, not that it can be written',
);

/** What to do about an error of the server, by its code. A longer prefix stands before a shorter one that it begins with. */
const mends: readonly (readonly [prefix: string, mend: string])[] = [
  [
    '42501',
    'GRANT INSERT, SELECT, UPDATE, DELETE on the tables of the service to its user, or make the user their owner',
  ],
  ['25006', 'name the server that takes writes in the URL; with several hosts, the first that takes them is used'],
  ['53100', 'free space on the disk of the server, or shorten --retention-days'],
  ['53', 'give the server more room: the log of the server tells of what'],
  ['28', 'correct user and password of the URL, or pg_hba.conf of the server'],
  ['3D000', 'make the database: CREATE DATABASE'],
  ['57014', 'find out what keeps the server busy: pg_stat_activity'],
];
export const mendOf = (code: string): string =>
  mends.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'the log of the server may tell more';

/** What happened to the probe span. @param mendOf what an error of the server says to do. @see Interface specification, "Deployment check" */
export const sayProbe = (outcome: ProbeOutcome, mendOf: (code: string) => string): Finding => {
  switch (outcome.kind) {
    case 'survived':
      return ok('a probe span survived write, read and delete');
    case 'busy':
      return skipped(`the probe span was not written: others held the lock through ${outcome.attempts} attempts`);
    case 'failed':
      return fault(`the ${outcome.step} of a probe span failed (${outcome.code})`, mendOf(outcome.code));
    case 'wrong':
      return fault(
        outcome.step === 'read'
          ? 'a probe span did not come back as it was written'
          : 'a probe span was still there after its deletion',
        'do not trust this server: restore a backup on another one',
      );
    default:
      return outcome satisfies never;
  }
};

export const judgeProbe = (outcome: ProbeOutcome): Finding => sayProbe(outcome, mendOf);

/** What there is to say of a server. */
export const judgeServer = ({ serverVersion, isReadOnly, settings, standbys }: DatabaseFacts): Finding[] => {
  const release = Math.floor(serverVersion / RELEASE);
  const findings: Finding[] = [];
  const warn = (isSo: boolean, message: string, mend: string): void => {
    if (isSo) findings.push(warning(message, mend));
  };
  if (release < OLDEST_RELEASE)
    findings.push(
      fault(`the server is PostgreSQL ${release}`, `upgrade it to one of ${OLDEST_RELEASE} to ${NEWEST_RELEASE}`),
    );
  warn(
    release > NEWEST_RELEASE,
    `the server is PostgreSQL ${release}, with which this release was not tried`,
    `use one of ${OLDEST_RELEASE} to ${NEWEST_RELEASE}, or a newer release of the service`,
  );
  if (isReadOnly)
    findings.push(fault('the server takes no writes: it is a standby, or set read-only (25006)', mendOf('25006')));
  warn(
    settings.fsync === 'off',
    'fsync is off: when the machine of the server fails, what was acknowledged is lost or damaged',
    'set fsync = on',
  );
  warn(
    settings.full_page_writes === 'off',
    'full_page_writes is off: when the machine of the server fails, pages may be damaged',
    'set full_page_writes = on',
  );
  warn(
    settings.synchronous_commit !== 'on',
    `synchronous_commit is ${settings.synchronous_commit} in transactions of the service, which ask for on`,
    'find out what changes it between the service and the server',
  );
  warn(
    standbys > 0 && settings.synchronous_standby_names === '',
    `the server has ${standbys} standby${standbys === 1 ? '' : 's'} and synchronous_standby_names is empty: a failover loses what was acknowledged last`,
    'set synchronous_standby_names',
  );
  warn(
    settings.autovacuum === 'off',
    'autovacuum is off: what is deleted stays on the disk',
    'set autovacuum = on, or run VACUUM by schedule',
  );
  return findings;
};

export const judgeSchema = (found: number, newest: number = SCHEMA_VERSION): readonly Finding[] => {
  if (found > newest)
    return [
      fault(
        `the database has schema version ${found}, and this release knows ${newest}`,
        'run the release that wrote it; nothing was changed',
      ),
    ];
  if (found === newest || found === 0) return [];
  return [
    warning(
      `the next start brings the database from schema version ${found} to ${newest}; no older release reads it then`,
      'back it up first',
    ),
  ];
};

/** @throws StoreUnavailable when the database goes away meanwhile; nobody holds a connection then */
const examine = async (
  { facts, reads, probe, close }: DatabaseInspection,
  name: string,
  readOnly: boolean,
): Promise<OpenedDatabase> => {
  const { schemaVersion, serverVersionText } = facts;
  const answers = `${name} answers: PostgreSQL ${serverVersionText}`;
  const ofServer = [...judgeServices(facts.services), ...judgeServer(facts), ...judgeSchema(schemaVersion)];
  if (schemaVersion === 0 || schemaVersion > SCHEMA_VERSION) {
    await close();
    const noTables = schemaVersion === 0 ? [skipped('the tables are not there yet; the first start makes them')] : [];
    return { findings: [ok(answers), ...ofServer, ...noTables], unread: UNREAD, close: async () => {} };
  }
  try {
    const probed = readOnly ? READ_ONLY_PROBE : judgeProbe(await probe());
    return { findings: [ok(`${answers}, schema version ${schemaVersion}`), probed, ...ofServer], reads, close };
  } catch (error) {
    await close();
    throw error;
  }
};

/** Examines the database of the signals: the server, its settings, and whether a probe span survives. Makes no table. */
export const openDatabase = async (url: string, readOnly: boolean): Promise<OpenedDatabase> => {
  const { inspectDatabase } = await import('../../store/postgres/signals/inspect.ts');
  try {
    return await examine(await inspectDatabase(url), databaseOf(url), readOnly);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const code = error.cause instanceof Error && 'code' in error.cause ? String(error.cause.code) : '';
    return { findings: [fault(error.message, mendOf(code))], unread: UNREAD, close: async () => {} };
  }
};
