import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { readJournal } from '../../api/journal.ts';
import { leaseMessagesOf, sequenceAt } from '../../model/run-messages.ts';
import { Button } from '../../widgets/button.tsx';
import { SequenceDiagram } from '../../widgets/sequence/sequence.tsx';
import { Loaded } from '../../widgets/states.tsx';

const Messages = ({ runId, leaseId }: { readonly runId: string; readonly leaseId: string }) => {
  const query = useQuery({
    queryKey: ['actors', 'lease', leaseId, 'messages'],
    queryFn: async ({ signal }) => {
      const { entries, isCut } = await readJournal(runId, signal);
      return { messages: leaseMessagesOf(entries, leaseId), isCut };
    },
  });
  return (
    <Loaded query={query} what="the journal of its run">
      {({ messages, isCut }) => (
        <>
          <SequenceDiagram name="Messages of the lease" sequence={sequenceAt(messages, undefined)} />
          <p>
            Heartbeats, and calls that were refused, stand in no journal.
            {isCut && ' The journal of the run is longer than was read: later messages are missing.'}
          </p>
        </>
      )}
    </Loaded>
  );
};

/** What a lease, its worker and its run told each other. The journal of the run has it, and each read of that is audited: it is asked for. */
export const LeaseMessages = ({ runId, leaseId }: { readonly runId: string; readonly leaseId: string }) => {
  const [isOpen, setOpen] = useState(false);
  if (isOpen) return <Messages runId={runId} leaseId={leaseId} />;
  return (
    <p>
      <Button onClick={() => setOpen(true)}>Show its messages</Button>
      <br />
      This reads the journal of its run, and the audit log notes it.
    </p>
  );
};
