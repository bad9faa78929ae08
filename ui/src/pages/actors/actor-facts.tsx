import type { ReactNode } from 'react';
import css from './actors.module.css';

/** Names and what they are. */
export const Facts = ({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }) => (
  <dl className={css['facts']}>
    {facts.map(([name, said]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{said}</dd>
      </div>
    ))}
  </dl>
);
