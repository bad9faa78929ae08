import { type Message, nameOfParty, type Sequence as Drawn } from '../../model/run-messages.ts';
import { formatCount, formatDurationMs, plural } from '../../model/units.ts';
import type { Column } from '../data-table.tsx';
import { Instant } from '../instant.tsx';
import { PageLink } from '../page-link.tsx';
import { PlainTable } from '../plain-table.tsx';
import css from './sequence.module.css';

const TIME_PX = 76;
const COLUMN_PX = 128;
const ROW_PX = 30;
const HEAD_PX = 28;
/** What a message to itself sticks out. */
const LOOP_PX = 14;
const MAX_LABEL = 64;

const short = (text: string): string => (text.length <= MAX_LABEL ? text : `${text.slice(0, MAX_LABEL)}…`);

const PAGE_OF = { lease: '/actors/lease', run: '/runs', limit: '/keys' } as const;

const columns: readonly Column<Message>[] = [
  { id: 'seq', head: 'Seq', isNumber: true, cell: ({ seq }) => formatCount(seq) },
  { id: 'at', head: 'At', cell: ({ at }) => <Instant at={at} /> },
  { id: 'from', head: 'From', cell: ({ from }) => nameOfParty(from) },
  { id: 'to', head: 'To', cell: ({ to }) => nameOfParty(to) },
  {
    id: 'what',
    head: 'What',
    cell: ({ text, other }) =>
      other === undefined ? (
        text
      ) : (
        <PageLink to={`${PAGE_OF[other.kind]}/${encodeURIComponent(other.id)}`}>{text}</PageLink>
      ),
  },
];

/** One message, and the end of its arrow as a path of its own: markers take no colour of their line everywhere. */
const Arrow = ({
  message,
  x,
  y,
  isLast,
}: {
  message: Message;
  x: (party: Message['from']) => number;
  y: number;
  isLast: boolean;
}) => {
  const from = x(message.from);
  const to = x(message.to);
  const isLoop = from === to;
  const way = to > from ? 1 : -1;
  const path = isLoop
    ? `M${from} ${y - 8}h${LOOP_PX}v8h${-LOOP_PX}m5 -4l-5 4l5 4`
    : `M${from} ${y}L${to} ${y}m${-6 * way} -4l${6 * way} 4l${-6 * way} 4`;
  return (
    <g className={[message.isBad === true ? css['bad'] : '', isLast ? css['last'] : ''].join(' ')}>
      <path className={css['arrow']} d={path} />
      <text className={css['text']} x={isLoop ? from + LOOP_PX + 6 : Math.min(from, to) + 8} y={isLoop ? y - 2 : y - 5}>
        <title>{message.text}</title>
        {short(message.text)}
      </text>
    </g>
  );
};

/**
 * Messages between an actor and those that it deals with, over time, and the same as a table.
 * @param name of the figure: `Messages of the run`
 */
export const SequenceDiagram = ({ name, sequence }: { readonly name: string; readonly sequence: Drawn }) => {
  const { columns: parties, drawn, before, after } = sequence;
  const x = (party: Message['from']): number => TIME_PX + COLUMN_PX * (parties.indexOf(party) + 0.5);
  const base = Date.parse(drawn[0]?.at ?? '');
  const height = HEAD_PX + ROW_PX * drawn.length + 10;
  // A label of the last column reaches beyond it.
  const width = TIME_PX + COLUMN_PX * (parties.length + 1);
  if (drawn.length === 0) return <p>No message yet.</p>;
  return (
    <figure aria-label={name}>
      <div className={css['scroll']} role="region" aria-label={`${name}, scrolls`} tabIndex={0}>
        <svg
          className={css['picture']}
          role="img"
          aria-label={`${plural(drawn.length, 'message')} between ${parties.map(nameOfParty).join(', ')}; the table below has the same`}
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
        >
          {parties.map((party) => (
            <g key={party}>
              <text className={css['head']} x={x(party)} y={16}>
                {nameOfParty(party)}
              </text>
              <path className={css['life']} d={`M${x(party)} ${HEAD_PX - 6}V${height}`} />
            </g>
          ))}
          {drawn.map((message, index) => {
            const y = HEAD_PX + ROW_PX * (index + 0.75);
            const ms = Date.parse(message.at) - base;
            return (
              <g key={`${message.seq} ${message.from} ${message.to}`}>
                <text className={css['time']} x={4} y={y}>
                  {ms === 0 ? '0' : `+${formatDurationMs(ms)}`}
                </text>
                <Arrow message={message} x={x} y={y} isLast={index === drawn.length - 1} />
              </g>
            );
          })}
        </svg>
      </div>
      {before + after > 0 && (
        <p>
          {plural(drawn.length, 'message')} of {formatCount(before + drawn.length + after)} shown
          {before > 0 && `, ${formatCount(before)} before`}
          {after > 0 && `, ${formatCount(after)} after`}: the slider moves what is drawn.
        </p>
      )}
      <PlainTable name="Messages" columns={columns} rows={drawn} idOf={({ seq, from, to }) => `${seq} ${from} ${to}`} />
    </figure>
  );
};
