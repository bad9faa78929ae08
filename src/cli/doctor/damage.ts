import { existsSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { checkFile } from '../../store/sqlite/check-file.ts';
import {
  type FileKind,
  FileRefused,
  hasLog,
  inspectedBesideOthers,
  inspectFile,
  knock,
  tidyAfterReading,
} from '../../store/sqlite/connection.ts';
import { driverCode } from '../../store/sqlite/driver-error.ts';
import { RUNS_FILE } from '../../store/sqlite/runs/schema.ts';
import { SIGNALS_FILE } from '../../store/sqlite/signals/schema.ts';
import { searchPath } from '../../store/sqlite/signals/search-file.ts';
import type { Settings } from '../settings.ts';
import { type Finding, fault, ok, skipped } from './finding.ts';

const BACKUP = 'stop the service and put a backup in its place';
const MEBIBYTE = 1024 * 1024;

const examineFile = async (path: string, seconds: number, mend: string, lockOf?: string): Promise<Finding[]> => {
  const size = `${Math.ceil((statSync(path).size / MEBIBYTE) * 10) / 10} MiB`;
  if (seconds === 0) return [skipped(`${path} was not read for damage (--check-seconds 0)`)];
  const { faults, ended, failed, seconds: took } = await checkFile(path, seconds, lockOf);
  const spent = `${Math.round(took * 10) / 10} s`;
  if (faults.length > 0 || failed !== undefined)
    return [fault(`${path} is damaged: ${[...faults, ...(failed === undefined ? [] : [failed])].join('; ')}`, mend)];
  if (ended.includes('integrity_check'))
    return [ok(`${basename(path)} was read completely in ${spent}: no damage in its ${size}`)];
  const more = 'give the check more time with --check-seconds';
  if (ended.includes('quick_check'))
    return [
      ok(`${basename(path)}: no damage in the pages and rows of its ${size}`),
      skipped(`${basename(path)}: its indexes were not all compared with their tables in ${spent}; ${more}`),
    ];
  return [
    skipped(
      `${basename(path)} was not read completely: in ${spent} of a file of ${size} nothing was found so far; ${more}`,
    ),
  ];
};

/** Whether the file is one that the check can go into; what is not is named by those who open it. */
const isOurs = (path: string, kind: FileKind): boolean => {
  if (!existsSync(path)) return false;
  const hadLog = hasLog(path);
  try {
    knock(path, kind);
    inspectFile(path, kind, inspectedBesideOthers);
    return true;
  } catch (error) {
    if (error instanceof FileRefused || driverCode(error) !== undefined) return false;
    throw error;
  } finally {
    if (!hadLog) tidyAfterReading(path);
  }
};

/** What there is to say about each file; nothing about one that is not there. */
export type Damage = Readonly<Record<'signals' | 'index' | 'runs', readonly Finding[]>>;

/**
 * Reads the files of the stores, and of the full-text index, for damage: all at once, each for so many seconds at most.
 * @param seconds 0 for not at all, which the findings say
 */
export const examineDamage = async (
  settings: Pick<Settings, 'data' | 'runsData' | 'runsUrl' | 'sqlstoreUrl' | 'colstoreUrl'>,
  seconds: number,
): Promise<Damage> => {
  const { sqlstoreUrl, colstoreUrl, runsData, runsUrl } = settings;
  const data = resolve(settings.data);
  const hasSignals = sqlstoreUrl === undefined && colstoreUrl === undefined && isOurs(data, SIGNALS_FILE);
  const index = searchPath(data);
  const runs = runsData === undefined || runsUrl !== undefined ? undefined : resolve(runsData);
  const [signals, ofIndex, ofRuns] = await Promise.all([
    hasSignals ? examineFile(data, seconds, BACKUP) : [],
    hasSignals && existsSync(index)
      ? examineFile(
          index,
          seconds,
          `stop the service, remove ${basename(index)}*, and start it: the index is made anew from the data`,
          data,
        )
      : [],
    runs !== undefined && isOurs(runs, RUNS_FILE) ? examineFile(runs, seconds, BACKUP) : [],
  ]);
  return { signals, index: ofIndex, runs: ofRuns };
};
