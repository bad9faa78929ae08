import { useEffect, useState } from 'react';
import { serverNow } from '../api/server-clock.ts';

const SECOND_MS = 1_000;

/** The time by the clock of the service, again each so often: what counts down there counts down here, however this machine's clock is set. */
export const useNow = (eachMs = SECOND_MS): number => {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), eachMs);
    return () => clearInterval(timer);
  }, [eachMs]);
  return now;
};
