import { oneOf } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePageState } from '../../widgets/page-state.ts';
import { FeedbackList } from './feedback-list.tsx';
import { ScoresList } from './scores-list.tsx';

const views = ['scores', 'feedback'] as const;
const grammar = { view: oneOf(views, 'scores') } as const;

/** What scorers measured and what people said: two lists that share no number. */
export default function ScoresPage() {
  const [{ view }, setState] = usePageState(grammar);
  return (
    <>
      <PageHead
        title={view === 'feedback' ? 'Feedback' : 'Scores'}
        actions={<PageLink to="/scorers">Scorers</PageLink>}
      >
        <div role="group" aria-label="View">
          {views.map((one) => (
            <Button key={one} look="plain" aria-pressed={view === one} onClick={() => setState({ view: one }, 'push')}>
              {one === 'scores' ? 'Scores' : 'Feedback'}
            </Button>
          ))}
        </div>
      </PageHead>
      {view === 'feedback' ? <FeedbackList /> : <ScoresList />}
    </>
  );
}
