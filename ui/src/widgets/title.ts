import { useEffect } from 'react';

/** Names page and object in the tab: `refund · Trace · svc`. */
export const useTitle = (...parts: readonly (string | undefined)[]): void => {
  const title = [...parts.filter((part) => part !== undefined && part !== ''), 'svc'].join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
};
