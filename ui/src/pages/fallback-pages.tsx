import { Button } from '../widgets/button.tsx';
import { EmptyState, ProblemNotice } from '../widgets/states.tsx';
import { PageLink } from '../widgets/page-link.tsx';
import { PageHead } from '../widgets/page-head.tsx';

export const NotFoundPage = () => (
  <>
    <PageHead title="Not found" />
    <EmptyState title="There is no such page">
      <p>
        Go to the <PageLink to="/">overview</PageLink>.
      </p>
    </EmptyState>
  </>
);

/** A fault of the interface itself; the service goes on. */
export const ErrorPage = ({ error }: { readonly error: unknown }) => (
  <>
    <PageHead title="Fault" />
    <ProblemNotice error={error} />
    <EmptyState title="This page could not be shown">
      <p>Where the service was replaced by another version, loading the page again helps.</p>
      <Button onClick={() => location.reload()}>Load again</Button>
    </EmptyState>
  </>
);
