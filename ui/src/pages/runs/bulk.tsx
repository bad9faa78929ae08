import { useMutation, useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { idempotencyKeys } from '../../model/idempotency-keys.ts';
import { readJsonObject } from '../../model/json-field.ts';
import { plural, shortId } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { Dialog, dialogCss } from '../../widgets/dialog.tsx';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { FieldFault, ProblemNotice } from '../../widgets/states.tsx';
import { type Action, ActionField, ActionProgress, actionWords, CountField, ReasonField } from './action-fields.tsx';

type Filter = components['schemas']['RunFilter'];
type NewBulk = components['schemas']['NewBulk'];

const ACTIONS = Object.keys(actionWords) as Action[];
const PROGRESS_EACH_MS = 1_000;

const readText = (form: FormData, name: string): string => {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
};

/** How far an action is, and a way to stop it. */
const Progress = ({ bulkId }: { readonly bulkId: string }) => {
  const path = { bulk: bulkId };
  const progress = useQuery({
    queryKey: ['runs', 'bulk', bulkId],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/runs/bulk/{bulk}', { params: { path }, signal })),
    refetchInterval: ({ state }) =>
      state.data === undefined || state.data.status === 'running' ? PROGRESS_EACH_MS : false,
  });
  const stop = useMutation({
    mutationFn: () => ask(api.DELETE('/v1/api/runs/bulk/{bulk}', { params: { path } })),
    onSuccess: () => progress.refetch(),
  });
  const { data } = progress;
  return (
    <>
      {data !== undefined && <ActionProgress {...data} />}
      {data?.status === 'running' && (
        <Button disabled={stop.isPending} onClick={() => stop.mutate()}>
          Stop
        </Button>
      )}
      {(progress.error ?? stop.error) !== null && <ProblemNotice error={progress.error ?? stop.error} />}
    </>
  );
};

const BulkForm = ({
  filter,
  onClose,
  onDone,
}: {
  readonly filter: Filter;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) => {
  const [action, setAction] = useState<Action>('cancel');
  const [typed, setTyped] = useState('');
  const [fault, setFault] = useState('');
  const [keyOf] = useState(idempotencyKeys);
  // The count is that of the filter, whatever is to be done.
  const counted = useQuery({
    queryKey: ['runs', 'bulk', 'count', filter],
    gcTime: 0,
    queryFn: ({ signal }) =>
      ask(api.POST('/v1/api/runs/bulk', { body: { action: 'cancel', filter, dry_run: true }, signal })),
  });
  const start = useMutation({
    mutationFn: (body: NewBulk) => ask(api.POST('/v1/api/runs/bulk', { body })),
    onSuccess: onDone,
  });
  const count = counted.data?.count;
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const payload = readJsonObject(readText(form, 'payload'), 'payload');
    if ('fault' in payload) return setFault(payload.fault);
    setFault('');
    const reason = readText(form, 'reason');
    const body: NewBulk = {
      action,
      filter,
      ...(reason === '' ? {} : { reason }),
      ...(action === 'signal' ? { event: readText(form, 'event') } : {}),
      ...(payload.value === undefined ? {} : { payload: payload.value }),
    };
    return start.mutate({ ...body, idempotency_key: keyOf(body) });
  };
  const isConfirmed = action !== 'cancel' || typed.trim() === String(count);
  const hasReason = action === 'cancel' || action === 'pause' || action === 'resume';
  const sample = counted.data?.sample ?? [];
  return (
    <form onSubmit={submit} style={{ display: 'contents' }}>
      <p role="status">
        {count === undefined ? 'Counting' : `${plural(count, 'run')} ${count === 1 ? 'matches' : 'match'} the filters.`}
      </p>
      {sample.length > 0 && (
        <p>
          {count !== undefined && count > sample.length ? 'Among them ' : ''}
          <code>{sample.map((run) => shortId(run.replaceAll('-', '').slice(-12))).join(', ')}</code>
        </p>
      )}
      {counted.error !== null && <ProblemNotice error={counted.error} onRetry={() => void counted.refetch()} />}
      <ActionField actions={ACTIONS} value={action} onChoose={setAction} />
      {hasReason && <ReasonField />}
      {action === 'signal' && (
        <>
          <label className={dialogCss['field']}>
            Event
            <input name="event" required maxLength={1024} spellCheck={false} />
          </label>
          <label className={dialogCss['field']}>
            Payload
            <textarea name="payload" rows={4} spellCheck={false} defaultValue="{}" />
          </label>
        </>
      )}
      {action === 'cancel' && count !== undefined && <CountField count={count} typed={typed} onType={setTyped} />}
      {fault !== '' && <FieldFault field="payload">{fault}</FieldFault>}
      {start.error !== null && <ProblemNotice error={start.error} />}
      {start.data?.bulk_id !== undefined && <Progress bulkId={start.data.bulk_id} />}
      <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
        <Button onClick={onClose}>Close</Button>
        <Button
          type="submit"
          look={action === 'cancel' ? 'danger' : 'primary'}
          disabled={count === undefined || count === 0 || !isConfirmed || start.isPending || start.data !== undefined}
        >
          {actionWords[action]} {count === undefined ? 'the runs' : plural(count, 'run')}
        </Button>
      </div>
    </form>
  );
};

/** Does something with all runs that the list holds. Their count comes first. @param filter nothing where none is set */
export const BulkActions = ({
  filter,
  onDone,
}: {
  readonly filter: Filter | undefined;
  readonly onDone: () => void;
}) => {
  const [isOpen, setOpen] = useState(false);
  const may = useMay('execute', filter?.project);
  const close = (): void => setOpen(false);
  return (
    <>
      <NeedsScope scope="execute" may={may} />
      <Button
        disabled={may !== true || filter === undefined}
        title={filter === undefined ? 'Set a filter first' : undefined}
        onClick={() => setOpen(true)}
      >
        Act on all…
      </Button>
      <Dialog title="Act on all runs of the list" isOpen={isOpen} onClose={close}>
        {filter !== undefined && <BulkForm filter={filter} onClose={close} onDone={onDone} />}
      </Dialog>
    </>
  );
};
