import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { plural, shortId } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { useShared } from '../../widgets/page-state.ts';
import { useParam } from '../../widgets/param.ts';
import { PayloadView } from '../../widgets/payload-view.tsx';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { DeleteDialog } from '../../widgets/delete-dialog.tsx';
import { Loaded, ProblemNotice } from '../../widgets/states.tsx';
import { CaptureForm, CaseForm } from './case-forms.tsx';
import css from './datasets.module.css';

type Item = components['schemas']['DatasetItem'];
type Dataset = components['schemas']['Dataset'];

const PAGE_ROWS = 25;

const Case = ({ item, project, may }: { readonly item: Item; readonly project: string; readonly may: boolean }) => {
  const client = useQueryClient();
  const [isAsked, setAsked] = useState(false);
  const remove = useMutation({
    mutationFn: () =>
      ask(
        api.DELETE('/v1/api/datasets/{dataset}/items/{item}', {
          params: { path: { dataset: item.dataset_id, item: item.item_id }, query: { project } },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: ['datasets'] }),
  });
  return (
    <li className={css['item']}>
      <div className={css['row']}>
        <h2>
          <code>{item.item_id}</code>
        </h2>
        <Instant at={item.created_at} />
        {item.source_trace_id !== undefined && (
          <PageLink to={`/traces/${item.source_trace_id}`}>
            from trace <code>{shortId(item.source_trace_id)}</code>
          </PageLink>
        )}
        {isAsked ? (
          <>
            <Button look="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
              Delete the case
            </Button>
            <Button onClick={() => setAsked(false)}>Keep it</Button>
          </>
        ) : (
          <Button
            look="plain"
            disabled={!may}
            aria-label={`Delete case ${item.item_id}`}
            onClick={() => setAsked(true)}
          >
            Delete…
          </Button>
        )}
      </div>
      {remove.error !== null && <ProblemNotice error={remove.error} />}
      <div className={css['sides']}>
        <div>
          <h3>Input</h3>
          <PayloadView value={item.input} name="input" />
        </div>
        <div>
          <h3>Expected</h3>
          {item.expected === undefined ? (
            <p className={css['note']}>None.</p>
          ) : (
            <PayloadView value={item.expected} name="expected" />
          )}
        </div>
      </div>
    </li>
  );
};

const Cases = ({ dataset, may }: { readonly dataset: Dataset; readonly may: boolean }) => {
  const { dataset_id, project } = dataset;
  const items = usePaged<Item>(['datasets', 'items', project, dataset_id], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/datasets/{dataset}/items', {
        params: {
          path: { dataset: dataset_id },
          query: { project, limit: PAGE_ROWS, ...(cursor === undefined ? {} : { cursor }) },
        },
        signal,
      }),
    );
    return { rows: page.items, next: page.next_cursor };
  });
  return (
    <Loaded query={items} what="cases">
      {(rows) => (
        <>
          <ol className={css['items']} aria-label="Cases">
            {rows.map((item) => (
              <Case key={item.item_id} item={item} project={project} may={may} />
            ))}
          </ol>
          <p className={css['note']}>
            {rows.length === 0
              ? 'No cases yet.'
              : `${plural(rows.length, 'case')} of ${dataset.item_count} shown, in the order in which they were made. `}
            {items.hasMore && <Button onClick={items.more}>More</Button>}
          </p>
        </>
      )}
    </Loaded>
  );
};

export default function DatasetPage() {
  const dataset = useParam('datasetId');
  const [shared] = useShared();
  const [isDeleting, setDeleting] = useState(false);
  const of = shared.project === undefined || shared.project === '*' ? {} : { project: shared.project };
  const may = useMay('write', shared.project === '*' ? undefined : shared.project);
  const query = useQuery({
    queryKey: ['datasets', 'one', dataset, shared.project],
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/api/datasets/{dataset}', { params: { path: { dataset }, query: of }, signal })),
  });
  return (
    <Loaded query={query} what="the dataset" head="Dataset">
      {(found) => (
        <>
          <PageHead
            title={found.name}
            of="Dataset"
            actions={
              <>
                <NeedsScope scope="write" may={may} />
                <Button look="danger" disabled={may !== true} onClick={() => setDeleting(true)}>
                  Delete…
                </Button>
              </>
            }
          >
            <span>
              {plural(found.item_count, 'case')}, project {found.project}
            </span>
          </PageHead>
          <div className={css['page']}>
            {found.description !== undefined && <p>{found.description}</p>}
            <details className={css['more']}>
              <summary>Capture runs as cases</summary>
              <CaptureForm dataset={found.dataset_id} project={found.project} may={may} />
            </details>
            <details className={css['more']}>
              <summary>Add a case</summary>
              <CaseForm dataset={found.dataset_id} project={found.project} may={may} />
            </details>
            <Cases dataset={found} may={may === true} />
          </div>
          {isDeleting && (
            <DeleteDialog
              title={`Delete ${found.name}`}
              name={found.name}
              what={`This deletes the dataset and its ${plural(found.item_count, 'case')}. Experiments and scores stay.`}
              affects="datasets"
              remove={() =>
                ask(
                  api.DELETE('/v1/api/datasets/{dataset}', {
                    params: { path: { dataset: found.dataset_id }, query: { project: found.project } },
                  }),
                )
              }
              onClose={() => setDeleting(false)}
            />
          )}
        </>
      )}
    </Loaded>
  );
}
