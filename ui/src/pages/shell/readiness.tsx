import { useQuery } from '@tanstack/react-query';
import { askService } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { Banner } from '../../widgets/states.tsx';

const ASK_EACH_MS = 15_000;

type Health = components['schemas']['Health'];

/** 503 is an answer here: it says what is wrong. */
const askReadiness = async (): Promise<Health> =>
  (await (await askService(new Request(new URL('/readyz', location.origin)))).json()) as Health;

/** A service that is not well says so on every page. */
export const Readiness = () => {
  const { data, error } = useQuery({
    queryKey: ['readyz'],
    queryFn: askReadiness,
    refetchInterval: ASK_EACH_MS,
    retry: 1,
  });
  if (error !== null)
    return <Banner title="Not reachable">The service does not answer. What is shown was read before.</Banner>;
  if (data?.status !== 'degraded') return null;
  return <Banner title="Degraded">{data.detail ?? 'the service says that something is wrong, and not what'}</Banner>;
};
