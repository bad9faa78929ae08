import { api, ask } from '../../api/client.ts';
import { usePolled } from '../../widgets/live.tsx';
import { useShared } from '../../widgets/page-state.ts';

/** They stand in a config file: more than that are not on one page. */
const MOST = 1000;

const useQueryOfProject = () => {
  const [{ project }] = useShared();
  return { limit: MOST, ...(project === undefined ? {} : { project }) };
};

export const useMonitors = () => {
  const query = useQueryOfProject();
  return usePolled({
    queryKey: ['monitors', query],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/monitors', { params: { query }, signal })),
  });
};

export const useSlos = () => {
  const query = useQueryOfProject();
  return usePolled({
    queryKey: ['slos', query],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/slos', { params: { query }, signal })),
  });
};

/** So many evaluations and transitions are looked at. */
const ROWS = 500;

export const useMonitorHistory = (id: string) =>
  usePolled({
    queryKey: ['monitors', 'history', id],
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/api/monitors/{id}/history', { params: { path: { id }, query: { limit: ROWS } }, signal })),
  });

export const useSloHistory = (id: string) =>
  usePolled({
    queryKey: ['slos', 'history', id],
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/api/slos/{id}/history', { params: { path: { id }, query: { limit: ROWS } }, signal })),
  });
