import type { ReactNode } from 'react';
import css from './split.module.css';

/** A picture and what is said of it: side by side, or one above the other where there is no room. */
export const Split = ({
  children,
  side,
  sideName,
}: {
  readonly children: ReactNode;
  readonly side: ReactNode;
  readonly sideName: string;
}) => (
  <div className={css['split']}>
    <div className={css['main']}>{children}</div>
    <section className={css['side']} aria-label={sideName} tabIndex={0}>
      {side}
    </section>
  </div>
);
