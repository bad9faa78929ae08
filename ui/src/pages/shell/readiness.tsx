import { useHealth } from '../../widgets/health.ts';
import { Banner } from '../../widgets/states.tsx';

/** A service that is not well says so on every page. */
export const Readiness = () => {
  const { data, error } = useHealth();
  if (error !== null)
    return <Banner title="Not reachable">The service does not answer. What is shown was read before.</Banner>;
  if (data?.status !== 'degraded') return null;
  return <Banner title="Degraded">{data.detail ?? 'the service says that something is wrong, and not what'}</Banner>;
};
