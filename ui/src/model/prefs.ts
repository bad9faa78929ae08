import type { Zone } from './units.ts';

/** What a reader likes. It is kept by the browser, under a version; an address says nothing of it and changes nothing of it. */
export type Prefs = {
  readonly version: 1;
  readonly theme: 'system' | 'light' | 'dark';
  readonly zone: Zone;
  readonly density: 'normal' | 'compact';
  /** How often lists ask again; 0 is never. */
  readonly pollSeconds: number;
  /** Single keys as commands, which some input devices press by themselves. */
  readonly shortcuts: boolean;
};

export const DEFAULT_PREFS: Prefs = {
  version: 1,
  theme: 'system',
  zone: 'local',
  density: 'normal',
  pollSeconds: 5,
  shortcuts: true,
};

const oneOf = <T>(words: readonly T[], value: unknown, otherwise: T): T =>
  words.find((word) => word === value) ?? otherwise;

const MAX_POLL_SECONDS = 3600;

/** @param stored text that some release or somebody else left behind; what is not understood is the default */
export const parsePrefs = (stored: string | null): Prefs => {
  let given: Record<string, unknown> = {};
  try {
    const parsed: unknown = JSON.parse(stored ?? '{}');
    if (typeof parsed === 'object' && parsed !== null) given = parsed as Record<string, unknown>;
  } catch {
    return DEFAULT_PREFS;
  }
  if (given['version'] !== 1) return DEFAULT_PREFS;
  const poll = given['pollSeconds'];
  return {
    version: 1,
    theme: oneOf(['system', 'light', 'dark'] as const, given['theme'], DEFAULT_PREFS.theme),
    zone: oneOf(['local', 'utc'] as const, given['zone'], DEFAULT_PREFS.zone),
    density: oneOf(['normal', 'compact'] as const, given['density'], DEFAULT_PREFS.density),
    pollSeconds:
      typeof poll === 'number' && Number.isFinite(poll) && poll >= 0 && poll <= MAX_POLL_SECONDS
        ? poll
        : DEFAULT_PREFS.pollSeconds,
    shortcuts: given['shortcuts'] !== false,
  };
};
