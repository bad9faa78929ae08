import { type PointerEvent, useMemo, useState } from 'react';
import { type Box, type BoxFilter, filterOfBox, placeTraces } from '../../model/scatter.ts';
import { formatDuration, formatMoney, plural } from '../../model/units.ts';
import type { TraceRow } from './columns.tsx';
import css from './traces.module.css';

const NANOS_PER_MILLI = 1e6;
const percent = (part: number): string => `${(part * 100).toFixed(3)}%`;

/** The loaded rows by duration and cost. A box around some of them becomes the four filters that hold them. */
export const Scatter = ({
  rows,
  onBox,
}: {
  readonly rows: readonly TraceRow[];
  readonly onBox: (filter: BoxFilter) => void;
}) => {
  const [box, setBox] = useState<Box | undefined>();
  const plane = useMemo(
    () =>
      placeTraces(
        rows.map(({ trace_id, name, status, duration_ns, cost }) => ({
          id: trace_id,
          name,
          isError: status === 'error',
          ...(duration_ns === null ? {} : { durationMs: duration_ns / NANOS_PER_MILLI }),
          ...(cost === undefined ? {} : { cost: cost.total_cost }),
        })),
      ),
    [rows],
  );
  const currency = rows.find(({ cost }) => cost !== undefined)?.cost?.currency;
  if (plane === undefined) return <p>Two traces with a duration and a cost are needed.</p>;
  const placeOf = ({ currentTarget, clientX, clientY }: PointerEvent<SVGSVGElement>) => {
    const { left, top, width, height } = currentTarget.getBoundingClientRect();
    return { x: (clientX - left) / width, y: (clientY - top) / height };
  };
  const money = (total_cost: number): string => formatMoney({ total_cost, currency: currency ?? 'USD' });
  const duration = (millis: number): string => formatDuration(millis * NANOS_PER_MILLI);
  return (
    <figure aria-label="Duration and cost" className={css['scatter']}>
      <svg
        role="img"
        aria-label={`${plural(plane.dots.length, 'trace')} by duration and cost`}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          const { x, y } = placeOf(event);
          setBox({ x1: x, y1: y, x2: x, y2: y });
        }}
        onPointerMove={(event) => {
          if (box === undefined) return;
          const { x, y } = placeOf(event);
          setBox({ ...box, x2: x, y2: y });
        }}
        onPointerUp={() => {
          const filter = box && filterOfBox(plane, box);
          setBox(undefined);
          if (filter !== undefined) onBox(filter);
        }}
        onPointerCancel={() => setBox(undefined)}
      >
        {plane.dots.map(({ id, name, isError, x, y, durationMs, cost }) => (
          <circle key={id} cx={percent(x)} cy={percent(y)} r={3.5} data-error={isError || undefined}>
            <title>{`${name}: ${duration(durationMs)}, ${money(cost)}`}</title>
          </circle>
        ))}
        {box !== undefined && (
          <rect
            x={percent(Math.min(box.x1, box.x2))}
            y={percent(Math.min(box.y1, box.y2))}
            width={percent(Math.abs(box.x2 - box.x1))}
            height={percent(Math.abs(box.y2 - box.y1))}
          />
        )}
      </svg>
      <figcaption>
        Duration {duration(plane.duration.least)} to {duration(plane.duration.most)}, rightwards; cost{' '}
        {money(plane.cost.least)} to {money(plane.cost.most)}, upwards; both logarithmic, of the loaded rows. Draw a box
        to filter, or set the filters above.
        {plane.leftOut > 0 && ` ${plural(plane.leftOut, 'trace')} without a duration or a cost left out.`}
      </figcaption>
    </figure>
  );
};
