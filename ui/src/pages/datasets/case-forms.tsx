import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { SubmitEvent } from 'react';
import { api, ask } from '../../api/client.ts';
import { valueOfText } from '../../model/case-input.ts';
import { idsIn } from '../../model/scores.ts';
import { plural } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { ProblemNotice } from '../../widgets/states.tsx';
import css from './datasets.module.css';

type Of = { readonly dataset: string; readonly project: string; readonly may: boolean | undefined };

const textOf = (form: FormData, name: string): string => {
  const given = form.get(name);
  return typeof given === 'string' ? given : '';
};

/** Makes cases of stored runs, by their traces. */
export const CaptureForm = ({ dataset, project, may }: Of) => {
  const client = useQueryClient();
  const capture = useMutation({
    mutationFn: (form: FormData) =>
      ask(
        api.POST('/v1/api/datasets/{dataset}/capture', {
          params: { path: { dataset }, query: { project } },
          body: {
            trace_ids: [...idsIn(textOf(form, 'trace_ids'))],
            use_output_as_expected: form.get('use_output') !== null,
          },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: ['datasets'] }),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    capture.mutate(new FormData(event.currentTarget));
  };
  return (
    <form onSubmit={submit} className={css['form']} aria-label="Capture runs" autoComplete="off">
      <label>
        Trace ids, one a line
        <textarea name="trace_ids" rows={3} required spellCheck={false} />
      </label>
      <label className={css['check']}>
        <input type="checkbox" name="use_output" />
        Keep the answer of each run as the expected one
      </label>
      <div className={css['row']}>
        <Button type="submit" disabled={may !== true || capture.isPending}>
          Capture
        </Button>
        {capture.data !== undefined && (
          <span role="status">
            {plural(capture.data.captured, 'case')} made
            {capture.data.skipped.length > 0 &&
              `; skipped: ${capture.data.skipped.map(({ trace_id, reason }) => `${trace_id}, ${reason}`).join('; ')}`}
          </span>
        )}
      </div>
      {capture.error !== null && <ProblemNotice error={capture.error} />}
    </form>
  );
};

/** Adds a case that somebody types. */
export const CaseForm = ({ dataset, project, may }: Of) => {
  const client = useQueryClient();
  const add = useMutation({
    mutationFn: (form: FormData) => {
      const expected = valueOfText(textOf(form, 'expected'));
      return ask(
        api.POST('/v1/api/datasets/{dataset}/items', {
          params: { path: { dataset }, query: { project } },
          body: { input: valueOfText(textOf(form, 'input')), ...(expected === undefined ? {} : { expected }) },
        }),
      );
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ['datasets'] }),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    add.mutate(new FormData(form), { onSuccess: () => form.reset() });
  };
  return (
    <form onSubmit={submit} className={css['form']} aria-label="Add a case" autoComplete="off">
      <label>
        Input: JSON, or plain text
        <textarea name="input" rows={3} required spellCheck={false} />
      </label>
      <label>
        Expected answer, where there is one
        <textarea name="expected" rows={2} spellCheck={false} />
      </label>
      <div className={css['row']}>
        <Button type="submit" disabled={may !== true || add.isPending}>
          Add
        </Button>
        {add.data !== undefined && <span role="status">Added as {add.data.item_id}</span>}
      </div>
      {add.error !== null && <ProblemNotice error={add.error} />}
    </form>
  );
};
