import { readFileSync } from 'node:fs';
import { createAuthenticator } from '../http/access/auth.ts';
import { nowUnixNano } from '../model/time.ts';
import { type Damage, examineDamage } from './doctor/damage.ts';
import type { Examined, RefusedSample, RunReads } from './doctor/deployment.ts';
import { openColumnar } from './doctor/columnar.ts';
import { type OpenedDatabase, openDatabase } from './doctor/database.ts';
import { examine } from './doctor/examine.ts';
import { openRuns, openSignals } from './doctor/files.ts';
import { openRunsDatabase } from './doctor/runs-database.ts';
import { takeRefusedSamples } from './doctor/lenient-config.ts';
import { reportText } from './doctor/text.ts';
import { columnarOf } from './columnar-address.ts';
import { EXIT_USAGE } from './exit-status.ts';
import { type GivenFlags, readSettings, type Settings } from './settings.ts';

/** A fault was found. */
const EXIT_FAULT = 2;

export type DoctorOptions = {
  readonly given: GivenFlags;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly offline: boolean;
  readonly readOnly: boolean;
  readonly windowDays: number;
  /** How long each file is read for damage, at most; 0 for not at all. */
  readonly checkSeconds: number;
  readonly json: boolean;
  readonly out: (text: string) => void;
  readonly err: (line: string) => void;
};

/** The store of the signals that the settings name. */
const openStore = async (settings: Settings, readOnly: boolean, damage: Damage): Promise<OpenedDatabase> => {
  if (settings.sqlstoreUrl !== undefined) return openDatabase(settings.sqlstoreUrl, readOnly);
  const columnar = columnarOf(settings);
  if (columnar !== undefined) return openColumnar(columnar, readOnly);
  const opened = openSignals(settings, readOnly, damage.signals, damage.index);
  return { ...opened, close: async () => opened.close() };
};

/** The store of the runs that they name. */
const openRunStore = async (
  settings: Settings,
  readOnly: boolean,
  damage: Damage,
): Promise<Examined<RunReads> & { readonly close: () => Promise<void> }> => {
  if (settings.runsData !== undefined && settings.runsUrl !== undefined) return openRunsDatabase(settings.runsUrl);
  const opened = openRuns(settings, readOnly, damage.runs);
  return { ...opened, close: async () => opened.close() };
};

/**
 * `svc doctor`: examines the deployment that the same flags, environment and config file would start, beside a service
 * that runs or without one.
 * @returns the exit status: 2 on a fault, 0 otherwise, warnings included
 * @see Interface specification, "Deployment check"
 */
export const doctor = async ({
  given,
  environment,
  offline,
  readOnly,
  windowDays,
  checkSeconds,
  json,
  out,
  err,
}: DoctorOptions): Promise<number> => {
  const refusedSamples: RefusedSample[] = [];
  const settings = readSettings({
    given,
    environment,
    // Key files come by here too; they hold no projects block and pass as they are.
    readTextFile: (path) => {
      const { text, refused } = takeRefusedSamples(readFileSync(path, 'utf8'));
      refusedSamples.push(...refused);
      return text;
    },
  });
  if (!settings.ok) {
    err(`svc: ${settings.problem}`);
    return EXIT_USAGE;
  }
  const { keys, projects } = settings.value;
  const damage = await examineDamage(settings.value, checkSeconds);
  const signals = await openStore(settings.value, readOnly, damage);
  const runs = await openRunStore(settings.value, readOnly, damage);
  try {
    const report = await examine(
      {
        settings: settings.value,
        refusedSamples,
        scopes: createAuthenticator({
          topLevel: keys,
          projects: Object.fromEntries(Object.entries(projects).map(([name, block]) => [name, block.keys])),
        }).describeScopes(),
        signals,
        runs,
        offline,
        windowDays,
        now: nowUnixNano(),
      },
      readOnly,
    );
    out(json ? `${JSON.stringify(report, null, 2)}\n` : reportText(report));
    return report.summary.fault > 0 ? EXIT_FAULT : 0;
  } finally {
    await signals.close();
    await runs.close();
  }
};
