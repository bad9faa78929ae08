import { Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { Menu } from 'lucide-react';
import { useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { paramsOfHome } from '../../model/prefs.ts';
import { keepShared, type Params } from '../../model/url.ts';
import { arrive, PAGE_ID, saidPage } from '../../widgets/arrival.ts';
import { Button } from '../../widgets/button.tsx';
import { listShortcuts } from '../../widgets/list-keys.ts';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePrefs } from '../../widgets/prefs.tsx';
import { type Shortcut, useShortcuts } from '../../widgets/shortcuts.tsx';
import { railPathOf, sections } from '../page.ts';
import { pages } from '../pages.ts';
import { Palette } from './palette.tsx';
import { Readiness } from './readiness.tsx';
import css from './shell.module.css';
import { TopBar } from './top-bar.tsx';

const railed = pages.flatMap(({ path, rail }) => (rail === undefined ? [] : [{ path, ...rail }]));
const groups = [undefined, ...sections]
  .map((section) => ({ section, links: railed.filter((link) => link.section === section) }))
  .filter(({ links }) => links.length > 0);

const Rail = ({ current }: { readonly current: string | undefined }) => {
  const { prefs } = usePrefs();
  const nav = useRef<HTMLElement>(null);
  // On a low screen the rail is scrolled.
  useLayoutEffect(() => {
    if (current !== undefined) nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [current]);
  return (
    <nav ref={nav} aria-label="Main" className={css['nav']}>
      {groups.map(({ section, links }) => (
        <div key={section ?? ''} className={css['group']}>
          {section !== undefined && <h2 className={css['section']}>{section}</h2>}
          <ul>
            {links.map(({ path, name, icon: Icon }) => (
              <li key={path}>
                <PageLink
                  to={path}
                  params={paramsOfHome(prefs, path)}
                  className={css['link']}
                  isCurrent={path === current}
                >
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

/** Moves the focus to a page that was gone to, and says its name to those who do not see it. */
const Arrival = ({ pathname }: { readonly pathname: string }) => {
  const before = useRef(pathname);
  useLayoutEffect(() => {
    if (before.current !== pathname) arrive();
    before.current = pathname;
  }, [pathname]);
  return (
    <div className="visually-hidden" aria-live="polite">
      {useSyncExternalStore(saidPage.subscribe, saidPage.read)}
    </div>
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
  useShortcuts(listShortcuts, true);
  return (
    <div className={css['shell']} data-rail={isRailOpen ? 'open' : undefined}>
      <a href={`#${PAGE_ID}`} className={css['skip']}>
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
        <Rail current={railPathOf(pages, pathname)} />
      </div>
      <div className={css['main']}>
        <TopBar />
        <Readiness />
        <main id={PAGE_ID} tabIndex={-1} className={css['page']}>
          <Outlet />
        </main>
      </div>
      <Palette />
      <Arrival pathname={pathname} />
    </div>
  );
};
