import type { ChartState, ChartTransition } from './statechart.ts';

/** Where everything of a statechart stands, in pixels from its upper left corner. */
export type ChartLayout = {
  readonly width: number;
  readonly height: number;
  /** Outer states before what is inside them. */
  readonly nodes: readonly PlacedState[];
  /** The dots from which the initial states are entered. */
  readonly starts: readonly PlacedStart[];
  readonly edges: readonly PlacedEdge[];
};

export type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
export type Point = { readonly x: number; readonly y: number };

export type PlacedState = Box & {
  readonly state: ChartState;
  /** It is drawn with what is inside it. */
  readonly isOpen: boolean;
  /** Transitions that lead out of it into itself, or nowhere. */
  readonly loops: readonly string[];
};

export type PlacedStart = Point & { readonly id: string; readonly to: string };

export type PlacedEdge = {
  readonly id: string;
  /** States as drawn: where one is closed, it stands for all that is inside it. */
  readonly from: string;
  readonly to: string;
  readonly transitions: readonly ChartTransition[];
  readonly label: readonly string[];
  readonly labelBox: Box;
  readonly points: readonly Point[];
};

/** The room that a picture has. */
export type Room = Pick<Box, 'width' | 'height'>;

export const cutText = (text: string, characters: number): string =>
  text.length <= characters ? text : `${text.slice(0, characters - 1)}…`;

/** A smooth line through the points. */
export const linePath = (points: readonly Point[]): string => {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (first === undefined || last === undefined) return '';
  const at = ({ x, y }: Point): string => `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`;
  const curves = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1] ?? last;
    const end = index === rest.length - 2 ? next : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    return `Q${at(point)} ${at(end)}`;
  });
  return curves.length === 0 ? `M${at(first)} L${at(last)}` : `M${at(first)} ${curves.join(' ')}`;
};

/** How far a picture must shrink to be seen at once. */
export const scaleIn = ({ width, height }: Room, room: Room): number =>
  Math.min(1, room.width / width, room.height / height);

export type Viewport = { readonly x: number; readonly y: number; readonly zoom: number };

/** Smaller than this nobody can read it. */
const READABLE_ZOOM = 0.62;
/** Smaller than this nobody sees its shape either. */
export const LEAST_ZOOM = 0.1;
const MARGIN_PX = 12;

const clamp = (value: number, least: number, most: number): number => Math.max(least, Math.min(most, value));

/**
 * How a picture is first seen: all of it, so that its shape shows. Where a machine is in a state, that is what matters: all of it if that
 * can be read, else as much as can be read around the state.
 * @param active the states that the machine is in
 */
export const viewportOf = (layout: ChartLayout, room: Room, active?: ReadonlySet<string>): Viewport => {
  const free = { width: room.width - 2 * MARGIN_PX, height: room.height - 2 * MARGIN_PX };
  const all = scaleIn(layout, free);
  const here = layout.nodes.findLast(({ state }) => active?.has(state.id));
  const zoom = Math.max(here === undefined ? LEAST_ZOOM : READABLE_ZOOM, all);
  const focus = here ?? layout.nodes.find(({ state }) => state.isInitial && state.parent === undefined);
  const middle = (start: number, size: number, all: number, length: number): number =>
    all * zoom <= length - 2 * MARGIN_PX
      ? (length - all * zoom) / 2
      : clamp(length / 2 - (start + size / 2) * zoom, length - MARGIN_PX - all * zoom, MARGIN_PX);
  return {
    x: middle(focus?.x ?? 0, focus?.width ?? 0, layout.width, room.width),
    y: middle(focus?.y ?? 0, focus?.height ?? 0, layout.height, room.height),
    zoom,
  };
};
