import { useMutation } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { idempotencyKeys } from '../../model/idempotency-keys.ts';
import { readJson, readJsonObject } from '../../model/json-field.ts';
import { chartOfDefinition } from '../../model/statechart.ts';
import { Button } from '../../widgets/button.tsx';
import { Dialog, dialogCss } from '../../widgets/dialog.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { FieldFault, ProblemNotice } from '../../widgets/states.tsx';
import { readText } from './form.ts';
import { useDefinition } from './graph.tsx';

type RunDetail = components['schemas']['RunDetail'];
type Restart = components['schemas']['RestartRun'];

const numberIn = (form: FormData, name: string): number | undefined => {
  const text = readText(form, name).trim();
  return text === '' ? undefined : Number(text);
};

/** Takes an ended run up at one of its steps: a new run, which the answer links to. */
export const RestartDialog = ({
  run,
  isOpen,
  onClose,
}: {
  readonly run: RunDetail;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}) => {
  const [fault, setFault] = useState<{ readonly field: string; readonly text: string } | undefined>();
  const [keyOf] = useState(idempotencyKeys);
  const definition = useDefinition(run);
  const steps = chartOfDefinition(definition.data?.definition).states.flatMap(({ id, stepKind }) =>
    stepKind === undefined ? [] : [id],
  );
  const failedAt = run.status === 'failed' ? run.error?.step_id : undefined;
  const restart = useMutation({
    mutationFn: (body: Restart) =>
      ask(api.POST('/v1/api/runs/{run}/restart', { params: { path: { run: run.run_id } }, body })),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const input = readJson(readText(form, 'input'), 'input');
    const patch = readJsonObject(readText(form, 'state_patch'), 'change of the state');
    if ('fault' in input) return setFault({ field: 'input', text: input.fault });
    if ('fault' in patch) return setFault({ field: 'state_patch', text: patch.fault });
    setFault(undefined);
    const visit = numberIn(form, 'visit');
    const version = numberIn(form, 'definition_version');
    const step = readText(form, 'from_step');
    const body: Restart = {
      ...(step === '' ? {} : { from_step: step }),
      ...(visit === undefined ? {} : { visit }),
      ...(version === undefined || version === run.definition_version ? {} : { definition_version: version }),
      ...(input.value === undefined ? {} : { input: input.value }),
      ...(patch.value === undefined ? {} : { state_patch: patch.value }),
    };
    return restart.mutate({ ...body, idempotency_key: keyOf(body) });
  };
  return (
    <Dialog title="Restart" isOpen={isOpen} onClose={onClose}>
      <form onSubmit={submit} style={{ display: 'contents' }}>
        <p>
          A new run begins at the step, with state and outputs as they were when this run entered it. This run stays as
          it is.
        </p>
        <label className={dialogCss['field']}>
          Step
          <select key={steps.length} name="from_step" required defaultValue={failedAt ?? ''}>
            {failedAt === undefined && <option value="">Choose a step</option>}
            {steps.map((step) => (
              <option key={step} value={step}>
                {step}
                {step === failedAt ? ' (it failed here)' : ''}
              </option>
            ))}
          </select>
        </label>
        <label className={dialogCss['field']}>
          Visit
          <input name="visit" type="number" min={1} placeholder="the last one" />
        </label>
        <label className={dialogCss['field']}>
          Version
          <input name="definition_version" type="number" min={1} required defaultValue={run.definition_version} />
        </label>
        <label className={dialogCss['field']}>
          Input
          <textarea name="input" rows={3} spellCheck={false} placeholder="as before" />
        </label>
        <label className={dialogCss['field']}>
          Change of the state
          <textarea name="state_patch" rows={3} spellCheck={false} placeholder="none" />
        </label>
        {fault !== undefined && <FieldFault field={fault.field}>{fault.text}</FieldFault>}
        {restart.error !== null && <ProblemNotice error={restart.error} />}
        {restart.data !== undefined && (
          <p role="status">
            Restarted as <PageLink to={`/runs/${restart.data.run_id}`}>{restart.data.run_id}</PageLink>.
          </p>
        )}
        <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" look="primary" disabled={restart.isPending || restart.data !== undefined}>
            Restart the run
          </Button>
        </div>
      </form>
    </Dialog>
  );
};
