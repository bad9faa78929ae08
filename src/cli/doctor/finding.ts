import type { components } from '../../model/generated/openapi.ts';

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

const MOST_CHARACTERS = 80;
const MOST_NAMES = 10;

/** A name that somebody sent, safe on a terminal: in quotes, cut, with control and direction characters written out. */
export const quoted = (name: string): string =>
  JSON.stringify(name.length > MOST_CHARACTERS ? `${name.slice(0, MOST_CHARACTERS)}...` : name).replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Names in quotes; past ten, how many more there are. */
export const listed = (names: readonly string[]): string => {
  const shown = names.slice(0, MOST_NAMES).map(quoted).join(', ');
  return names.length > MOST_NAMES ? `${shown} and ${names.length - MOST_NAMES} more` : shown;
};

export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
