import { useIsFetching, useQuery } from '@tanstack/react-query';
import { Activity, Check, KeyRound, Link2, Moon, Pause, Search, Sun, SunMoon } from 'lucide-react';
import { useCallback, useMemo } from 'react';
import { api, ask } from '../../api/client.ts';
import { Button, CopySaid, useCopy } from '../../widgets/button.tsx';
import { useKeyDialog } from '../../widgets/key-dialog.tsx';
import { useLive } from '../../widgets/live.tsx';
import { useShared } from '../../widgets/page-state.ts';
import { usePrefs } from '../../widgets/prefs.tsx';
import { type Shortcut, useShortcuts } from '../../widgets/shortcuts.tsx';
import { openPalette } from './palette.tsx';
import { SaveView } from './save-view.tsx';
import { TimeRange } from './time-range.tsx';
import css from './top-bar.module.css';

const THEMES = { system: 'light', light: 'dark', dark: 'system' } as const;
const THEME_ICONS = { system: SunMoon, light: Sun, dark: Moon } as const;

const ProjectChoice = () => {
  const [{ project }, setShared] = useShared();
  const { data } = useQuery({
    queryKey: ['projects'],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/projects', { params: { query: { limit: 1000 } }, signal })),
    staleTime: 60_000,
  });
  const names = data?.projects.map((row) => row.project) ?? [];
  const options = project === undefined || project === '*' || names.includes(project) ? names : [project, ...names];
  return (
    <label>
      Project
      <select
        value={project ?? ''}
        onChange={(event) => setShared({ project: event.target.value || undefined }, 'push')}
      >
        <option value="">default</option>
        <option value="*">all</option>
        {options.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
};

const EnvironmentChoice = () => {
  const [{ environment }, setShared] = useShared();
  const set = (value: string): void => {
    if (value !== (environment ?? '')) setShared({ environment: value || undefined }, 'push');
  };
  return (
    <label>
      Environment
      <input
        key={environment ?? ''}
        defaultValue={environment ?? ''}
        placeholder="any"
        size={8}
        onBlur={(event) => set(event.target.value.trim())}
        onKeyDown={(event) => {
          if (event.key === 'Enter') set(event.currentTarget.value.trim());
        }}
      />
    </label>
  );
};

const LiveToggle = () => {
  const { isLive, setLive, pollMs } = useLive();
  const { pollSeconds } = usePrefs().prefs;
  const isAsking = useIsFetching() > 0;
  return (
    <>
      <Button
        aria-pressed={isLive}
        disabled={pollSeconds === 0}
        title={pollSeconds === 0 ? 'Off in the settings' : 'Ask again by itself (L)'}
        onClick={() => setLive(!isLive)}
      >
        {isLive ? <Activity size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
        Live
      </Button>
      <span role="status" className={css['live']} data-asking={isAsking || undefined}>
        {pollMs === undefined ? 'Paused' : `Polling ${pollMs / 1000} s`}
      </span>
    </>
  );
};

const ThemeToggle = () => {
  const { prefs, change } = usePrefs();
  const Icon = THEME_ICONS[prefs.theme];
  const label = `Theme: ${prefs.theme}`;
  return (
    <Button look="plain" aria-label={label} title={label} onClick={() => change({ theme: THEMES[prefs.theme] })}>
      <Icon size={16} aria-hidden />
    </Button>
  );
};

export const TopBar = () => {
  const keyDialog = useKeyDialog();
  const { isLive, setLive } = useLive();
  const { said, copy } = useCopy();
  const copyLink = useCallback(() => copy(location.href), [copy]);
  const shortcuts = useMemo<Shortcut[]>(
    () => [
      { keys: 'mod+k', what: 'Command palette', run: openPalette },
      { keys: 'L', what: 'Live on and off', run: () => setLive(!isLive) },
      { keys: 'y', what: 'Copy the link to this view', run: copyLink },
    ],
    [isLive, setLive, copyLink],
  );
  useShortcuts(shortcuts);
  return (
    <header className={css['bar']}>
      <ProjectChoice />
      <TimeRange />
      <EnvironmentChoice />
      <span className={css['space']} />
      <LiveToggle />
      <Button look="plain" aria-label="Command palette" title="Command palette (Ctrl K)" onClick={openPalette}>
        <Search size={16} aria-hidden />
      </Button>
      <SaveView />
      <Button look="plain" aria-label="Copy link" title="Copy the link to this view (y)" onClick={copyLink}>
        {said === 'Copied' ? <Check size={16} aria-hidden /> : <Link2 size={16} aria-hidden />}
      </Button>
      <CopySaid said={said} />
      <Button onClick={keyDialog.open} title="The key that this tab presents">
        <KeyRound size={14} aria-hidden />
        {keyDialog.hasKey ? 'Key set' : 'No key'}
      </Button>
      <ThemeToggle />
    </header>
  );
};
