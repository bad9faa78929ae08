import { cutText, type ChartLayout, linePath, type PlacedEdge, type PlacedState } from './statechart-view.ts';

/** Text of a client inside of markup. Control characters may not stand in XML at all. */
const escaped = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\uFFFE\uFFFF]/gu, '\uFFFD')
    .replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const INK = '#14181f';
const MUTED = '#5a6472';
const RULE = '#868f9b';
const PAPER = '#ffffff';
const round = (value: number): number => Math.round(value * 10) / 10;

const nodeSvg = ({ state, x, y, width, height, isOpen, loops }: PlacedState): string => {
  const text = (left: number, top: number, size: number, color: string, said: string, weight = 400): string =>
    `<text x="${round(left)}" y="${round(top)}" font-size="${size}" font-weight="${weight}" fill="${color}">${escaped(said)}</text>`;
  const isFinal = state.kind === 'final';
  const lines = [
    `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="6" fill="${isOpen ? '#f6f7f9' : PAPER}" stroke="${RULE}" stroke-width="${isFinal ? 3 : 1}"/>`,
    text(x + 12, y + 19, 13, INK, state.key, 600),
  ];
  let top = y + 36;
  if (state.stepKind !== undefined) {
    lines.push(text(x + 12, top, 11, MUTED, state.stepKind));
    top += 16;
  }
  for (const loop of loops) {
    lines.push(text(x + 12, top, 11, MUTED, loop));
    top += 16;
  }
  return `<g data-state="${escaped(state.id)}"><title>${escaped(cutText(`${state.id}${state.description === undefined ? '' : `: ${state.description}`}`, 400))}</title>${lines.join('')}</g>`;
};

const edgeSvg = ({ points, label, labelBox }: PlacedEdge): string => {
  const line = `<path d="${linePath(points)}" fill="none" stroke="${RULE}" marker-end="url(#arrow)"/>`;
  const texts = label.map(
    (text, index) =>
      `<text x="${round(labelBox.x + labelBox.width / 2)}" y="${round(labelBox.y + 12 + index * 16)}" font-size="11" text-anchor="middle" fill="${MUTED}" paint-order="stroke" stroke="${PAPER}" stroke-width="4">${escaped(text)}</text>`,
  );
  return line + texts.join('');
};

/** The picture as a file of its own: it needs no style sheet, no script and no font of ours. */
export const svgOf = (name: string, layout: ChartLayout): string => {
  const width = Math.ceil(layout.width) + 16;
  const height = Math.ceil(layout.height) + 16;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -8 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif">`,
    `<title>${escaped(name)}</title>`,
    `<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0 8 4 0 8Z" fill="${RULE}"/></marker></defs>`,
    `<rect x="-8" y="-8" width="${width}" height="${height}" fill="${PAPER}"/>`,
    ...layout.nodes.map(nodeSvg),
    ...layout.starts.map(({ x, y }) => `<circle cx="${round(x)}" cy="${round(y)}" r="5" fill="${INK}"/>`),
    ...layout.edges.map(edgeSvg),
    '</svg>',
    '',
  ].join('\n');
};
