import { useMutation, useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { api, ask } from '../../api/client.ts';
import { Problem } from '../../api/problem.ts';
import { plural } from '../../model/units.ts';
import { Button, CopyButton } from '../../widgets/button.tsx';
import { CopyCurl } from '../../widgets/copy-curl.tsx';
import { DeleteDialog } from '../../widgets/delete-dialog.tsx';
import { Dialog, dialogCss } from '../../widgets/dialog.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { type Selection, SelectionBar } from '../../widgets/selection.tsx';
import { Loaded, ProblemNotice } from '../../widgets/states.tsx';

type Project = string | undefined;

/** Their ids would not fit into an address. */
const MAX_IN_ADDRESS = 50;
const MAX_DATASETS = 200;

/** Makes cases of the chosen traces. */
const CaptureForm = ({
  ids,
  project,
  onClose,
}: {
  readonly ids: readonly string[];
  readonly project: Project;
  readonly onClose: () => void;
}) => {
  const datasets = useQuery({
    queryKey: ['datasets', 'choice', project],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/datasets', {
          params: { query: { limit: MAX_DATASETS, ...(project === undefined ? {} : { project }) } },
          signal,
        }),
      ),
  });
  const [chosen, setChosen] = useState<string>();
  const [keepsOutput, setKeepsOutput] = useState(false);
  const found = datasets.data?.datasets ?? [];
  const dataset = found.find(({ dataset_id }) => dataset_id === chosen) ?? found[0];
  const capture = useMutation({
    mutationFn: (to: (typeof found)[number]) =>
      ask(
        api.POST('/v1/api/datasets/{dataset}/capture', {
          params: { path: { dataset: to.dataset_id }, query: { project: to.project } },
          body: { trace_ids: [...ids], use_output_as_expected: keepsOutput },
        }),
      ),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (dataset !== undefined) capture.mutate(dataset);
  };
  return (
    <form onSubmit={submit} style={{ display: 'contents' }}>
      <p>Each trace becomes a case: its input, and a link back to it.</p>
      <Loaded query={datasets} what="datasets">
        {() =>
          dataset === undefined ? (
            <p>
              There is no dataset yet. <PageLink to="/datasets">Make one</PageLink>
            </p>
          ) : (
            <label className={dialogCss['field']}>
              Dataset
              <select value={dataset.dataset_id} onChange={({ target }) => setChosen(target.value)}>
                {found.map(({ dataset_id, name }) => (
                  <option key={dataset_id} value={dataset_id}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
          )
        }
      </Loaded>
      <label className={dialogCss['check']}>
        <input type="checkbox" checked={keepsOutput} onChange={({ target }) => setKeepsOutput(target.checked)} />
        Keep the answer of each trace as the expected one
      </label>
      {capture.error !== null && <ProblemNotice error={capture.error} />}
      {capture.data !== undefined && (
        <p role="status">
          {plural(capture.data.captured, 'case')} made
          {capture.data.skipped.length > 0 &&
            `; skipped: ${capture.data.skipped.map(({ trace_id, reason }) => `${trace_id}, ${reason}`).join('; ')}`}
          . {dataset !== undefined && <PageLink to={`/datasets/${dataset.dataset_id}`}>{dataset.name}</PageLink>}
        </p>
      )}
      <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
        <Button onClick={onClose}>Close</Button>
        <Button
          type="submit"
          look="primary"
          disabled={dataset === undefined || capture.isPending || capture.data !== undefined}
        >
          Capture {plural(ids.length, 'trace')}
        </Button>
      </div>
    </form>
  );
};

/** Deletes one trace after the other; one that is gone already counts as deleted. @param onGone called for each */
const deleteAll = async (
  ids: readonly string[],
  onGone: (id: string) => void,
): Promise<{ readonly deletes_pending: boolean }> => {
  let isPending = false;
  for (const id of ids) {
    try {
      const { deletes_pending } = await ask(
        api.DELETE('/v1/api/traces/{trace_id}', { params: { path: { trace_id: id } } }),
      );
      isPending ||= deletes_pending;
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 404) throw error;
    }
    onGone(id);
  }
  return { deletes_pending: isPending };
};

/** What can be done with the traces that were chosen in the list. */
export const SelectedTraces = ({
  selection,
  project,
  onGone,
}: {
  readonly selection: Selection;
  readonly project: Project;
  /** Called for each trace that is deleted. */
  readonly onGone: (traceId: string) => void;
}) => {
  const [open, setOpen] = useState<'capture' | 'delete' | undefined>();
  const own = project === '*' ? undefined : project;
  const mayWrite = useMay('write', own);
  const mayDelete = useMay('admin', own);
  const ids = [...selection.chosen];
  const [a, b] = ids;
  const close = (): void => setOpen(undefined);
  return (
    <>
      <SelectionBar selection={selection} what="trace">
        {ids.length === 2 && a !== undefined && b !== undefined && (
          <PageLink to="/traces/compare" params={{ a, b }}>
            Compare
          </PageLink>
        )}
        {ids.length <= MAX_IN_ADDRESS && (
          <PageLink to="/scorers" params={{ trace_ids: ids.join(',') }}>
            Score…
          </PageLink>
        )}
        <CopyButton text={ids.join('\n')} label="Copy the selected ids">
          Ids
        </CopyButton>
        <CopyCurl paths={ids.map((id) => `/v1/api/traces/${id}`)} />
        <Button disabled={mayWrite !== true} onClick={() => setOpen('capture')}>
          Capture…
        </Button>
        <NeedsScope scope="write" may={mayWrite} />
        <Button look="danger" disabled={mayDelete !== true} onClick={() => setOpen('delete')}>
          Delete…
        </Button>
        <NeedsScope scope="admin" may={mayDelete} />
      </SelectionBar>
      <Dialog title="Capture as cases" isOpen={open === 'capture'} onClose={close}>
        {open === 'capture' && <CaptureForm ids={ids} project={own} onClose={close} />}
      </Dialog>
      {open === 'delete' && (
        <DeleteDialog
          title={`Delete ${plural(ids.length, 'trace')}`}
          name={String(ids.length)}
          what="This deletes their spans, logs, scores, feedback and notes. Runs stay."
          affects="traces"
          remove={() => deleteAll(ids, onGone)}
          onDeleted={selection.clear}
          onClose={close}
        />
      )}
    </>
  );
};
