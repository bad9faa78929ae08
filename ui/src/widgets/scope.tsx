import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../api/client.ts';
import type { components } from '../api/types.ts';
import { mayUse } from '../model/scopes.ts';

type Scope = components['schemas']['Scope'];

/** Whether the reader's key may do it. @returns nothing until that is known */
export const useMay = (scope: Scope, project?: string): boolean | undefined => {
  const { data } = useQuery({
    queryKey: ['whoami'],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/whoami', { signal })),
    staleTime: 60_000,
  });
  return data === undefined ? undefined : mayUse(data, scope, project);
};

/** Says which scope an action lacks. Nothing where it lacks none. */
export const NeedsScope = ({ scope, may }: { readonly scope: Scope; readonly may: boolean | undefined }) =>
  may === false ? (
    <span>
      needs the <code>{scope}</code> scope
    </span>
  ) : null;
