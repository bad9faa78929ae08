import { useMutation } from '@tanstack/react-query';
import { type SubmitEvent, useMemo, useState } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { newKey } from '../../model/idempotency-keys.ts';
import { readJsonObject } from '../../model/json-field.ts';
import { plural } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { Dialog, dialogCss } from '../../widgets/dialog.tsx';
import { type Shortcut, useShortcuts } from '../../widgets/shortcuts.tsx';
import { useMay } from '../../widgets/scope.tsx';
import { FieldFault, ProblemNotice } from '../../widgets/states.tsx';
import { readText } from './form.ts';
import { RestartDialog } from './restart.tsx';

type RunDetail = components['schemas']['RunDetail'];

const ENDED = new Set<RunDetail['status']>(['succeeded', 'failed', 'cancelled']);
const NO_SCOPE = 'This needs a key with the execute scope';

const OUTCOMES: Readonly<Record<components['schemas']['EventOutcome']['outcome'], string>> = {
  delivered: 'Delivered: the run goes on.',
  parked: 'Parked: no run waits for it yet. It is kept for 24 hours.',
  duplicate: 'Duplicate: an event with this id was seen before, and nothing changed.',
};

const SignalDialog = ({
  run,
  isOpen,
  onClose,
  onDone,
}: {
  readonly run: RunDetail;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) => {
  const [fault, setFault] = useState('');
  const [eventId] = useState(newKey);
  const [wait] = run.waits;
  const send = useMutation({
    mutationFn: (body: components['schemas']['Signal']) =>
      ask(api.POST('/v1/api/runs/{run}/signal', { params: { path: { run: run.run_id } }, body })),
    onSuccess: onDone,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const payload = readJsonObject(readText(form, 'payload'), 'payload');
    if ('fault' in payload) return setFault(payload.fault);
    setFault('');
    const id = readText(form, 'event_id').trim();
    return send.mutate({
      event: readText(form, 'event').trim(),
      payload: payload.value ?? {},
      ...(id === '' ? {} : { event_id: id }),
    });
  };
  return (
    <Dialog title="Signal" isOpen={isOpen} onClose={onClose}>
      <form onSubmit={submit} style={{ display: 'contents' }}>
        <p>
          {wait === undefined
            ? 'This run waits for no event.'
            : `The step ${wait.step_id} waits for the event ${wait.event} with the key ${wait.key}.`}
        </p>
        <label className={dialogCss['field']}>
          Event
          <input name="event" required defaultValue={wait?.event ?? ''} />
        </label>
        <label className={dialogCss['field']}>
          Payload
          <textarea name="payload" rows={6} spellCheck={false} defaultValue="{}" />
        </label>
        <label className={dialogCss['field']}>
          Event id
          <input name="event_id" defaultValue={eventId} spellCheck={false} />
        </label>
        {fault !== '' && <FieldFault field="payload">{fault}</FieldFault>}
        {send.error !== null && <ProblemNotice error={send.error} />}
        {send.data !== undefined && <p role="status">{OUTCOMES[send.data.outcome]}</p>}
        <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" look="primary" disabled={send.isPending}>
            Send
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

const CancelDialog = ({
  run,
  isOpen,
  onClose,
  onDone,
}: {
  readonly run: RunDetail;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) => {
  const open = run.children.filter(({ status }) => !ENDED.has(status)).length;
  const [typed, setTyped] = useState('');
  const cancel = useMutation({
    mutationFn: (reason: string) =>
      ask(
        api.POST('/v1/api/runs/{run}/cancel', {
          params: { path: { run: run.run_id } },
          body: reason === '' ? {} : { reason },
        }),
      ),
    onSuccess: onDone,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    cancel.mutate(readText(new FormData(event.currentTarget), 'reason').trim());
  };
  const isConfirmed = open === 0 || typed.trim() === run.definition_id;
  return (
    <Dialog title="Cancel run" isOpen={isOpen} onClose={onClose}>
      <form onSubmit={submit} style={{ display: 'contents' }}>
        <p>
          {open === 0 ? 'The run ends.' : `The run and ${plural(open, 'child run')} end.`} A step in flight is not
          interrupted: its worker learns at its next heartbeat, 10 s by default.
        </p>
        {open > 0 && (
          <label className={dialogCss['field']}>
            Type {run.definition_id} to confirm
            <input value={typed} onChange={(event) => setTyped(event.target.value)} spellCheck={false} />
          </label>
        )}
        <label className={dialogCss['field']}>
          Reason
          <input name="reason" maxLength={4096} />
        </label>
        {cancel.error !== null && <ProblemNotice error={cancel.error} />}
        {cancel.data !== undefined && <p role="status">The run is {cancel.data.status}.</p>}
        <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" look="danger" disabled={!isConfirmed || cancel.isPending || cancel.data !== undefined}>
            Cancel the run
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

/** What a reader may do with the run. What the key may not do is disabled, and says which scope it needs. */
export const RunActions = ({ run, onDone }: { readonly run: RunDetail; readonly onDone: () => void }) => {
  const [isOpen, setOpen] = useState<'signal' | 'cancel' | 'restart' | undefined>();
  const may = useMay('execute', run.project);
  const pause = useMutation({
    mutationFn: (action: 'pause' | 'resume') =>
      ask(
        action === 'pause'
          ? api.POST('/v1/api/runs/{run}/pause', { params: { path: { run: run.run_id } } })
          : api.POST('/v1/api/runs/{run}/resume', { params: { path: { run: run.run_id } } }),
      ),
    onSuccess: onDone,
  });
  const hasEnded = ENDED.has(run.status);
  const isDisabled = may !== true || hasEnded;
  const lacks = may === false ? NO_SCOPE : undefined;
  const why = lacks ?? (hasEnded ? 'The run has ended' : undefined);
  const shortcuts = useMemo<Shortcut[]>(
    () => (isDisabled ? [] : [{ keys: 's', what: 'Signal the run', run: () => setOpen('signal') }]),
    [isDisabled],
  );
  useShortcuts(shortcuts);
  const close = (): void => setOpen(undefined);
  return (
    <>
      <Button disabled={isDisabled} title={why} onClick={() => setOpen('signal')}>
        Signal
      </Button>
      <Button
        disabled={isDisabled || pause.isPending}
        title={why}
        onClick={() => pause.mutate(run.status === 'paused' ? 'resume' : 'pause')}
      >
        {run.status === 'paused' ? 'Resume' : 'Pause'}
      </Button>
      <Button
        look={isDisabled ? 'normal' : 'danger'}
        disabled={isDisabled}
        title={why}
        onClick={() => setOpen('cancel')}
      >
        Cancel run
      </Button>
      <Button
        disabled={may !== true || !hasEnded}
        title={lacks ?? (hasEnded ? undefined : 'The run has not ended')}
        onClick={() => setOpen('restart')}
      >
        Restart…
      </Button>
      {lacks !== undefined && <span>{NO_SCOPE}.</span>}
      {pause.error !== null && <ProblemNotice error={pause.error} />}
      <SignalDialog
        key={`signal ${isOpen === 'signal'}`}
        run={run}
        isOpen={isOpen === 'signal'}
        onClose={close}
        onDone={onDone}
      />
      <CancelDialog run={run} isOpen={isOpen === 'cancel'} onClose={close} onDone={onDone} />
      <RestartDialog key={`restart ${isOpen === 'restart'}`} run={run} isOpen={isOpen === 'restart'} onClose={close} />
    </>
  );
};
