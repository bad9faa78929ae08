import type { components } from '../../model/generated/openapi.ts';
import { quoted } from '../printable.ts';

/** What a check says. What is wrong comes with the flag or the step that mends it. */
export type Finding =
  | { readonly level: 'ok' | 'skipped'; readonly message: string }
  | { readonly level: 'warning' | 'fault'; readonly message: string; readonly mend: string };
export type Level = Finding['level'];

/** The whole answer, as `svc doctor --json` and `GET /v1/api/doctor` give it. */
export type DoctorReport = components['schemas']['DoctorReport'];

export const ok = (message: string): Finding => ({ level: 'ok', message });
/** A check that was not run: it proves nothing. */
export const skipped = (message: string): Finding => ({ level: 'skipped', message });
export const warning = (message: string, mend: string): Finding => ({ level: 'warning', message, mend });
export const fault = (message: string, mend: string): Finding => ({ level: 'fault', message, mend });

const MOST_NAMES = 10;

/** Names in quotes; past ten, how many more there are. */
export const listed = (names: readonly string[]): string => {
  const shown = names.slice(0, MOST_NAMES).map(quoted).join(', ');
  return names.length > MOST_NAMES ? `${shown} and ${names.length - MOST_NAMES} more` : shown;
};

export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
