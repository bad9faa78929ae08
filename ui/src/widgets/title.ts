import { useEffect } from 'react';
import { sayPage } from './arrival.ts';

/** Names page and object in the tab: `refund · Trace · svc`. */
export const useTitle = (...parts: readonly (string | undefined)[]): void => {
  const names = parts.filter((part) => part !== undefined && part !== '');
  const title = [...names, 'svc'].join(' · ');
  const spoken = names.join(', ');
  useEffect(() => {
    document.title = title;
    sayPage(spoken);
  }, [title, spoken]);
};
