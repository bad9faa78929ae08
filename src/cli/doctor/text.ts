import { counted, type DoctorReport, type Level } from './finding.ts';

const shown: Readonly<Record<Level, string>> = { ok: 'ok', skipped: 'skipped', warning: 'warning', fault: 'FAULT' };

/** The report for people: one line a finding, then one that adds up. */
export const reportText = ({ groups, summary }: DoctorReport): string => {
  const lines = groups.flatMap(({ group, findings }) =>
    findings.map((finding) => {
      const mend = finding.mend === undefined ? '' : ` -> ${finding.mend}`;
      return `${shown[finding.level].padEnd(8)}${group.padEnd(11)}${finding.message}${mend}`;
    }),
  );
  const proved = `${summary.ok} ok, ${counted(summary.warning, 'warning')}, ${counted(summary.fault, 'fault')}`;
  const unproved =
    summary.skipped === 0
      ? ''
      : `; ${counted(summary.skipped, 'check')} skipped: not run, ${summary.skipped === 1 ? 'it' : 'they'} proved nothing`;
  return `${[...lines, '', `${proved}${unproved}`].join('\n')}\n`;
};
