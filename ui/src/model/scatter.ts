/** What a dot stands for. Unknown durations and costs have no place on the plane. */
export type Placed = {
  readonly id: string;
  readonly name: string;
  readonly isError: boolean;
  readonly durationMs: number;
  readonly cost: number;
};

type Axis = { readonly least: number; readonly most: number };
export type Dot = Placed & {
  /** From the left, and from the top, as parts of the plane. */ readonly x: number;
  readonly y: number;
};
export type Plane = {
  readonly dots: readonly Dot[];
  readonly duration: Axis;
  readonly cost: Axis;
  readonly leftOut: number;
};

/** The filters of the list that a box stands for. */
export type BoxFilter = {
  readonly min_duration_ms: number;
  readonly max_duration_ms: number;
  readonly min_cost: number;
  readonly max_cost: number;
};
/** Two corners, as parts of the plane. */
export type Box = { readonly x1: number; readonly y1: number; readonly x2: number; readonly y2: number };

/** Room around the outermost dots, in powers of ten, so that a box can hold them. */
const ROOM = 0.1;
/** Below this part of either side a box is a click. */
const LEAST_BOX = 0.01;
/** Digits that a filter made of a box is written with: the address is for people. */
const DIGITS = 3;

const axisOf = (values: readonly number[]): Axis => ({
  least: 10 ** (Math.log10(Math.min(...values)) - ROOM),
  most: 10 ** (Math.log10(Math.max(...values)) + ROOM),
});
const partOf = ({ least, most }: Axis, value: number): number =>
  (Math.log10(value) - Math.log10(least)) / (Math.log10(most) - Math.log10(least));
const valueAt = ({ least, most }: Axis, part: number): number =>
  10 ** (Math.log10(least) + part * (Math.log10(most) - Math.log10(least)));

/**
 * Places traces by duration, to the right, and cost, upwards, both logarithmic: they spread over powers of ten.
 * @returns nothing when fewer than two have both above zero
 */
export const placeTraces = (
  rows: readonly (Omit<Placed, 'durationMs' | 'cost'> & Partial<Pick<Placed, 'durationMs' | 'cost'>>)[],
): Plane | undefined => {
  const known = rows.flatMap((row) => {
    const { durationMs, cost } = row;
    return durationMs !== undefined && cost !== undefined && durationMs > 0 && cost > 0
      ? [{ ...row, durationMs, cost }]
      : [];
  });
  if (known.length < 2) return undefined;
  const duration = axisOf(known.map(({ durationMs }) => durationMs));
  const cost = axisOf(known.map((row) => row.cost));
  return {
    dots: known.map((row) => ({ ...row, x: partOf(duration, row.durationMs), y: 1 - partOf(cost, row.cost) })),
    duration,
    cost,
    leftOut: rows.length - known.length,
  };
};

/** @returns bounds that hold every dot of the box, and nothing for a box too small to be meant */
export const filterOfBox = ({ duration, cost }: Plane, { x1, y1, x2, y2 }: Box): BoxFilter | undefined => {
  const within = (part: number): number => Math.min(Math.max(part, 0), 1);
  const [left, right] = [within(Math.min(x1, x2)), within(Math.max(x1, x2))];
  const [top, bottom] = [within(Math.min(y1, y2)), within(Math.max(y1, y2))];
  if (right - left < LEAST_BOX || bottom - top < LEAST_BOX) return undefined;
  const down = (value: number): number => rounded(value, Math.floor);
  const up = (value: number): number => rounded(value, Math.ceil);
  return {
    min_duration_ms: down(valueAt(duration, left)),
    max_duration_ms: up(valueAt(duration, right)),
    min_cost: down(valueAt(cost, 1 - bottom)),
    max_cost: up(valueAt(cost, 1 - top)),
  };
};

const rounded = (value: number, round: (value: number) => number): number => {
  const unit = 10 ** (Math.floor(Math.log10(value)) - DIGITS + 1);
  return Number((round(value / unit) * unit).toPrecision(DIGITS + 1));
};
