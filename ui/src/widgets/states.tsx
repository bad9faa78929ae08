import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { isTransient, Problem } from '../api/problem.ts';
import { Button } from './button.tsx';
import { useFieldMark } from './field-mark.ts';
import { useKeyDialog } from './key-dialog.tsx';
import { PageHead } from './page-head.tsx';
import css from './states.module.css';

/** What the service refused, in its own words. In a form, the field that it names is marked. */
export const ProblemNotice = ({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) => {
  const keyDialog = useKeyDialog();
  const problem = error instanceof Problem ? error : new Problem(0, 'interface', String(error));
  const needsKey = problem.status === 401 || problem.status === 403;
  const id = useId();
  const notice = useRef<HTMLDivElement>(null);
  useFieldMark(notice, problem.field);
  return (
    <div ref={notice} id={id} role="alert" className={css['problem']}>
      <code className={css['code']}>{problem.code}</code>
      <span>{problem.message}</span>
      {needsKey && <Button onClick={keyDialog.open}>Enter a key</Button>}
      {onRetry !== undefined && isTransient(problem) && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
};

/** What the interface itself finds wrong with a field of a form. */
export const FieldFault = ({ field, children }: { readonly field: string; readonly children: ReactNode }) => {
  const id = useId();
  const notice = useRef<HTMLParagraphElement>(null);
  useFieldMark(notice, field);
  return (
    <p ref={notice} id={id} role="alert" className={css['fault']}>
      {children}
    </p>
  );
};

/** Nothing is here, why, and what to do about it. */
export const EmptyState = ({ title, children }: { readonly title: string; readonly children?: ReactNode }) => (
  <div className={css['state']}>
    <h2>{title}</h2>
    {children}
  </div>
);

/** Before that, nothing is drawn: what comes at once does not flicker. */
const SKELETON_AFTER_MS = 150;
const LINES = ['a', 'b', 'c', 'd', 'e', 'f'];

export const Skeleton = ({ what }: { readonly what: string }) => {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SKELETON_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!shown) return null;
  return (
    <div role="status" aria-label={`Loading ${what}`} className={css['skeleton']}>
      {LINES.map((line) => (
        <span key={line} />
      ))}
    </div>
  );
};

type Asked<T> = {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly refetch: () => unknown;
};

/** A query on the page: its skeleton, its refusal, or what it found; what was found before stays while asking again fails. */
export const Loaded = <T,>({
  query,
  what,
  head,
  children,
}: {
  readonly query: Asked<T>;
  readonly what: string;
  /** The heading of a page whose own comes with its data, as long as there is none. */
  readonly head?: string;
  readonly children: (data: T) => ReactNode;
}) => (
  <>
    {head !== undefined && query.data === undefined && <PageHead title={head} />}
    {query.error !== null && query.error !== undefined && (
      <ProblemNotice error={query.error} onRetry={() => void query.refetch()} />
    )}
    {query.data === undefined ? query.error === null && <Skeleton what={what} /> : children(query.data)}
  </>
);

export const Banner = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <div role="alert" className={css['banner']}>
    <b>⚠ {title}</b>
    <span>{children}</span>
  </div>
);
