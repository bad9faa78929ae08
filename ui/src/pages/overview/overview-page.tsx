import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import { PageHead } from '../../widgets/page-head.tsx';
import { useShared } from '../../widgets/page-state.ts';
import { Loaded } from '../../widgets/states.tsx';
import { FirstRun } from './first-run.tsx';
import { Overview } from './overview.tsx';

/** While nothing has arrived, somebody waits for it. */
const ASK_EACH_MS = 2_000;

export default function OverviewPage() {
  const [{ project }] = useShared();
  const any = useQuery({
    queryKey: ['any-trace', project],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/traces', {
          params: { query: { limit: 1, ...(project === undefined ? {} : { project }) } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) => (state.data?.traces.length === 0 ? ASK_EACH_MS : false),
  });
  return (
    <>
      <PageHead title="Overview" />
      <Loaded query={any} what="what has arrived">
        {({ traces }) => (traces.length === 0 ? <FirstRun /> : <Overview />)}
      </Loaded>
    </>
  );
}
