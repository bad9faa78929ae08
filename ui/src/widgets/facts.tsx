import type { ReactNode } from 'react';
import css from './facts.module.css';

/** Names and values; what is not known is left out. */
export const Facts = ({ facts }: { readonly facts: readonly (readonly [string, ReactNode] | undefined)[] }) => (
  <dl className={css['facts']}>
    {facts.map((fact) =>
      fact === undefined || fact[1] === undefined ? null : (
        <div key={fact[0]}>
          <dt>{fact[0]}</dt>
          <dd>{fact[1]}</dd>
        </div>
      ),
    )}
  </dl>
);
