import { useMemo, useState } from 'react';
import type { JournalEntry } from '../../api/journal.ts';
import type { components } from '../../api/types.ts';
import { writeRunBrief } from '../../model/run-brief.ts';
import { BriefView, briefCss, BudgetSelect, USUAL_BUDGET } from '../../widgets/brief-view.tsx';
import { Button } from '../../widgets/button.tsx';
import { Dialog } from '../../widgets/dialog.tsx';

type CopyProps = {
  readonly run: components['schemas']['RunDetail'];
  readonly entries: readonly JournalEntry[];
  readonly nowMs: number;
};

const CopyForm = ({ run, entries, nowMs }: CopyProps) => {
  const [budget, setBudget] = useState(USUAL_BUDGET);
  const brief = useMemo(() => writeRunBrief(run, entries, nowMs, budget), [run, entries, nowMs, budget]);
  return (
    <>
      <div className={briefCss['choices']}>
        <BudgetSelect value={budget} onChoose={setBudget} />
      </div>
      <BriefView brief={brief} />
    </>
  );
};

/** A run as Markdown within a number of tokens: what the page has read, and nothing more. */
export const CopyRun = (props: CopyProps) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>Copy for an assistant…</Button>
      <Dialog title="Copy for an assistant" isOpen={isOpen} onClose={() => setOpen(false)}>
        {isOpen && <CopyForm {...props} />}
      </Dialog>
    </>
  );
};
