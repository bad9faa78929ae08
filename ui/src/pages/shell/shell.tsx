import { Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { Menu } from 'lucide-react';
import { useMemo, useState } from 'react';
import { paramsOfHome } from '../../model/prefs.ts';
import { keepShared, type Params } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePrefs } from '../../widgets/prefs.tsx';
import { rowShortcuts } from '../../widgets/row-keys.ts';
import { type Shortcut, useShortcuts } from '../../widgets/shortcuts.tsx';
import { sections } from '../page.ts';
import { pages } from '../pages.ts';
import { Palette } from './palette.tsx';
import { Readiness } from './readiness.tsx';
import css from './shell.module.css';
import { TopBar } from './top-bar.tsx';

const railed = pages.flatMap(({ path, rail }) => (rail === undefined ? [] : [{ path, ...rail }]));
const groups = [undefined, ...sections]
  .map((section) => ({ section, links: railed.filter((link) => link.section === section) }))
  .filter(({ links }) => links.length > 0);

const Rail = () => {
  const { prefs } = usePrefs();
  return (
    <nav aria-label="Main" className={css['nav']}>
      {groups.map(({ section, links }) => (
        <div key={section ?? ''} className={css['group']}>
          {section !== undefined && <h2 className={css['section']}>{section}</h2>}
          <ul>
            {links.map(({ path, name, icon: Icon }) => (
              <li key={path}>
                <PageLink to={path} params={paramsOfHome(prefs, path)} className={css['link']}>
                  <Icon size={15} aria-hidden />
                  {name}
                </PageLink>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
};

/** What surrounds every page: rail, bar on top, banners, and the palette. */
export const Shell = () => {
  const navigate = useNavigate();
  const { prefs } = usePrefs();
  const { pathname } = useLocation();
  // On narrow screens the rail lies over the page, until a page was chosen in it.
  const [railOpenAt, setRailOpenAt] = useState<string>();
  const isRailOpen = railOpenAt === pathname;
  const shortcuts = useMemo<Shortcut[]>(
    () =>
      railed.flatMap(({ path, name, key }) =>
        key === undefined
          ? []
          : [
              {
                keys: `g ${key}`,
                what: `Go to ${name}`,
                run: () =>
                  void navigate({
                    to: path,
                    search: (before: Params) => ({ ...keepShared(before), ...paramsOfHome(prefs, path) }),
                  }),
              },
            ],
      ),
    [navigate, prefs],
  );
  useShortcuts(shortcuts);
  useShortcuts(rowShortcuts, true);
  return (
    <div className={css['shell']} data-rail={isRailOpen ? 'open' : undefined}>
      <a href="#page" className={css['skip']}>
        Skip to the page
      </a>
      <div className={css['rail']}>
        <div className={css['brand']}>
          <span className={css['name']}>svc</span>
          <Button
            look="plain"
            className={css['menu']}
            aria-expanded={isRailOpen}
            aria-label="Menu"
            onClick={() => setRailOpenAt(isRailOpen ? undefined : pathname)}
          >
            <Menu size={16} aria-hidden />
          </Button>
        </div>
        <Rail />
      </div>
      <div className={css['main']}>
        <TopBar />
        <Readiness />
        <main id="page" tabIndex={-1} className={css['page']}>
          <Outlet />
        </main>
      </div>
      <Palette />
    </div>
  );
};
