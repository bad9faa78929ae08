import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { keepShared, type Params } from '../model/url.ts';

type PageLinkProps = {
  /** Of the interface: `/traces`, `/runs/0192…`. */
  readonly to: string;
  /** State of the page behind the link, by the names of its grammar. */
  readonly params?: Params;
  readonly children: ReactNode;
  readonly className?: string | undefined;
  readonly label?: string;
};

/** A link to a page. Project, time and environment go along. */
export const PageLink = ({ to, params = {}, children, className, label }: PageLinkProps) => (
  <Link
    to={to}
    search={(before: Params) => ({ ...keepShared(before), ...params })}
    className={className}
    aria-label={label}
    activeOptions={{ includeSearch: false, exact: to === '/' }}
    activeProps={{ 'aria-current': 'page' }}
  >
    {children}
  </Link>
);
