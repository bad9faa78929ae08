import { memo } from 'react';
import css from './moment-slider.module.css';

/** Where something happened, by how it looks: places from 0 to 1. */
export type Ticks = ReadonlyMap<string, readonly number[]>;

const HEIGHT = 10;

const Marks = memo(({ ticks }: { readonly ticks: Ticks }) => (
  <svg className={css['ticks']} viewBox={`0 0 1 ${HEIGHT}`} preserveAspectRatio="none" aria-hidden>
    {[...ticks].map(([look, places]) => (
      <path key={look} data-look={look} d={places.map((place) => `M${place} 0V${HEIGHT}`).join('')} />
    ))}
  </svg>
));

/** A slider over the moments of a journal, with a tick where each of them stands. */
export const MomentSlider = ({
  first,
  last,
  value,
  words,
  isDisabled,
  ticks,
  onChange,
}: {
  readonly first: number;
  readonly last: number;
  readonly value: number;
  /** The moment in words, for those who do not see where the slider stands. */
  readonly words: string;
  readonly isDisabled: boolean;
  readonly ticks?: Ticks | undefined;
  readonly onChange: (seq: number) => void;
}) => (
  <div className={css['slider']}>
    <input
      type="range"
      aria-label="Sequence"
      min={first}
      max={last}
      step={1}
      disabled={isDisabled}
      value={value}
      aria-valuetext={words}
      onChange={({ target }) => onChange(Number(target.value))}
    />
    {ticks !== undefined && <Marks ticks={ticks} />}
  </div>
);
