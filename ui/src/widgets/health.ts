import { useQuery } from '@tanstack/react-query';
import { askService } from '../api/client.ts';
import type { components } from '../api/types.ts';

const ASK_EACH_MS = 15_000;

type Health = components['schemas']['Health'];

/** 503 is an answer here: it says what is wrong. */
const askReadiness = async (): Promise<Health> =>
  (await (await askService(new Request(new URL('/readyz', location.origin)))).json()) as Health;

/** How the service is, and since when it is up: asked once for all who want to know. */
export const useHealth = () =>
  useQuery({ queryKey: ['readyz'], queryFn: askReadiness, refetchInterval: ASK_EACH_MS, retry: 1 });
