import { useLinkProps } from '@tanstack/react-router';
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
  /** In a navigation: it is the entry of the page that is shown. */
  readonly isCurrent?: boolean;
};

/** A link to a page. Project, time and environment go along. */
export const PageLink = ({ to, params = {}, children, className, label, isCurrent = false }: PageLinkProps) => {
  // The router calls each link to the page or above it the current page, also one to a list that is filtered otherwise.
  const { 'aria-current': _, ...props } = useLinkProps({
    to,
    search: (before: Params) => ({ ...keepShared(before), ...params }),
    activeProps: {},
  });
  return (
    <a {...props} className={className} aria-label={label} aria-current={isCurrent ? 'page' : undefined}>
      {children}
    </a>
  );
};
