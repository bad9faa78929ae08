import { lazy, Suspense, useCallback, useState } from 'react';
import { formatInstant } from '../model/units.ts';
import type { Params } from '../model/url.ts';
import { type ChartProps, colorOfSeries } from './chart-parts.ts';
import css from './chart.module.css';
import { PageLink } from './page-link.tsx';
import { usePrefs } from './prefs.tsx';

const Canvas = lazy(() => import('./chart-canvas.tsx'));

/** More rows than that are cut, and the table says so. */
const MOST_ROWS = 500;

type Props = Omit<ChartProps, 'onHover'> & {
  /** Its accessible name: `Cost over time`. */
  readonly name: string;
  /** What lies at a time: the table links to it. */
  readonly linkOf?: (seconds: number) => { readonly to: string; readonly params: Params };
};

/** A chart over time with its legend, and the same numbers as a table. */
export const Chart = ({ name, linkOf, ...props }: Props) => {
  const { aligned, format } = props;
  const { times, series } = aligned;
  const { zone } = usePrefs().prefs;
  const [hovered, setHovered] = useState<number>();
  const onHover = useCallback((index: number | undefined) => setHovered(index), []);
  const textOf = (seconds: number): string => formatInstant(new Date(seconds * 1000).toISOString(), zone);
  const at = hovered === undefined ? undefined : times[hovered];
  const shown = times.length > MOST_ROWS ? times.length - MOST_ROWS : 0;
  return (
    <figure className={css['chart']} aria-label={name}>
      <figcaption className={css['legend']}>
        <span className={css['at']}>{at === undefined ? name : textOf(at)}</span>
        {series.map((row, index) => (
          <span key={row.name} className={css['key']}>
            <span className={css['swatch']} style={{ background: colorOfSeries(index, row.name) }} />
            {row.name}
            {hovered !== undefined && <b>{format(row.values[hovered])}</b>}
          </span>
        ))}
      </figcaption>
      <Suspense fallback={<div className={css['canvas']} />}>
        <Canvas {...props} onHover={onHover} />
      </Suspense>
      <details className={css['twin']}>
        <summary>As a table</summary>
        <div className={css['scroller']} role="region" aria-label={`${name}, as a table`} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {series.map((row) => (
                  <th key={row.name} scope="col">
                    {row.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.slice(shown).map((seconds, index) => (
                <tr key={seconds}>
                  <th scope="row">
                    {linkOf === undefined ? (
                      textOf(seconds)
                    ) : (
                      <PageLink {...linkOf(seconds)}>{textOf(seconds)}</PageLink>
                    )}
                  </th>
                  {series.map((row) => (
                    <td key={row.name}>{format(row.values[shown + index])}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          {shown > 0 && <p>The last {MOST_ROWS} times.</p>}
        </div>
      </details>
    </figure>
  );
};
