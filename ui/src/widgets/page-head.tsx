import { type ReactNode, useRef } from 'react';
import { useFocusOnArrival } from './arrival.ts';
import css from './page-head.module.css';
import { useTitle } from './title.ts';

type PageHeadProps = {
  /** What the page is, or the name of its object. */
  readonly title: string;
  /** What kind of thing the object is, for the tab. */
  readonly of?: string;
  /** Beside the title: state, counts. */
  readonly children?: ReactNode;
  /** At the end of the line. */
  readonly actions?: ReactNode;
};

/** The heading of a page, and the title of its tab. */
export const PageHead = ({ title, of, children, actions }: PageHeadProps) => {
  const heading = useRef<HTMLHeadingElement>(null);
  useTitle(title, of);
  useFocusOnArrival(heading);
  return (
    <div className={css['head']}>
      <h1 ref={heading} tabIndex={-1} className={css['title']}>
        {title}
      </h1>
      {children}
      {actions !== undefined && <div className={css['actions']}>{actions}</div>}
    </div>
  );
};
