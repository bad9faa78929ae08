import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { useShared } from '../../widgets/page-state.ts';

export type SavedView = components['schemas']['SavedView'];

/** A project has 200 of them at the most. */
const MOST_VIEWS = 1000;

export const useViews = () => {
  const [{ project }] = useShared();
  return useQuery({
    queryKey: ['views', project],
    queryFn: async ({ signal }) => {
      const query = { limit: MOST_VIEWS, ...(project === undefined ? {} : { project }) };
      const { views } = await ask(api.GET('/v1/api/views', { params: { query }, signal }));
      return views;
    },
  });
};

export const isBoard = ({ views }: SavedView): boolean => views !== undefined;
