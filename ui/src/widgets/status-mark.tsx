import { colorOfKind, inWords, lookOf, type SpanKind } from '../model/status.ts';
import css from './status-mark.module.css';

/** A state: glyph, word and colour, never colour alone. */
export const StatusMark = ({ state }: { readonly state: string }) => {
  const { glyph, word, color } = lookOf(state);
  return (
    <span className={css['mark']} style={{ color: `var(--${color})` }}>
      <span aria-hidden className={css['glyph']}>
        {glyph}
      </span>
      {word}
    </span>
  );
};

export const KindMark = ({ kind }: { readonly kind: SpanKind }) => (
  <span className={css['kind']}>
    <span className={css['swatch']} style={{ background: `var(--${colorOfKind(kind)})` }} />
    {inWords(kind)}
  </span>
);
