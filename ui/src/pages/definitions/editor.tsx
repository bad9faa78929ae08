import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useId, useMemo, useRef, useState } from 'react';
import { api, ask } from '../../api/client.ts';
import { type Fault, faultsByStep, parseDraft, SAMPLE_DEFINITION } from '../../model/draft.ts';
import { lineOf, placeInText } from '../../model/json-position.ts';
import { plural } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { useShared } from '../../widgets/page-state.ts';
import { useMay } from '../../widgets/scope.tsx';
import { Split } from '../../widgets/split.tsx';
import { Statechart } from '../../widgets/statechart/statechart.tsx';
import { Loaded, ProblemNotice } from '../../widgets/states.tsx';
import css from './definitions.module.css';

const CHECK_AFTER_MS = 300;

const useSettled = (text: string): string => {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), CHECK_AFTER_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
};

const useWhoami = () =>
  useQuery({ queryKey: ['whoami'], queryFn: ({ signal }) => ask(api.GET('/v1/api/whoami', { signal })) });

const bodyOf = (definition: object, project: string | undefined) => ({
  definitions: [definition as Record<string, unknown>],
  ...(project === undefined ? {} : { project }),
});

const FaultList = ({
  id,
  faults,
  text,
  onShow,
}: {
  readonly id: string;
  readonly faults: readonly Fault[];
  readonly text: string;
  readonly onShow: (fault: Fault) => void;
}) => (
  <ul id={id} aria-label="Faults" className={css['faults']}>
    {faults.map((fault, index) => (
      <li key={`${index} ${fault.path}`}>
        <button type="button" onClick={() => onShow(fault)}>
          Line {lineOf(text, placeInText(text, fault.path).start)}
        </button>
        <span>
          {fault.path !== '' && <code>{fault.path}</code>} {fault.message}
        </span>
      </li>
    ))}
  </ul>
);

const Writing = ({ initial }: { readonly initial: string }) => {
  const [{ project }] = useShared();
  const whoami = useWhoami();
  const [text, setText] = useState(initial);
  const [selected, setSelected] = useState<string>();
  const area = useRef<HTMLTextAreaElement>(null);
  const areaId = useId();
  const settled = useSettled(text);
  const draft = useMemo(() => parseDraft(settled), [settled]);
  // A key of several projects says which of them is to own it; one of all stores for the service.
  const reach = whoami.data?.projects ?? [];
  const owner = reach.length > 1 && !reach.includes('*') ? project : undefined;
  const may = useMay('execute', owner);
  const mayStore = may === true;
  const check = useQuery({
    queryKey: ['definitions', 'check', owner, settled],
    enabled: draft.kind === 'json' && mayStore,
    gcTime: 0,
    retry: false,
    queryFn: async ({ signal }) => {
      if (draft.kind !== 'json') return [];
      const answer = await ask(
        api.POST('/v1/api/definitions', {
          params: { query: { check: true } },
          body: bodyOf(draft.definition, owner),
          signal,
        }),
      );
      return answer.definitions.flatMap((one) => ('faults' in one ? one.faults : []));
    },
  });
  const store = useMutation({
    mutationFn: async () => {
      if (draft.kind !== 'json') throw new Error('there is nothing to store');
      const answer = await ask(api.POST('/v1/api/definitions', { body: bodyOf(draft.definition, owner) }));
      const [stored] = answer.definitions;
      if (stored === undefined || 'faults' in stored) throw new Error('nothing was stored');
      return stored;
    },
  });
  const faults = draft.kind === 'broken' ? [{ path: '', message: draft.message }] : (check.data ?? []);
  const isChecked = settled === text && draft.kind === 'json' && check.isSuccess;
  const marks = useMemo(
    () => (draft.kind === 'json' ? { faults: faultsByStep(draft, check.data ?? []) } : {}),
    [draft, check.data],
  );
  const show = ({ path }: Fault): void => {
    const { start } = placeInText(text, path);
    const end = text.indexOf('\n', start);
    area.current?.focus();
    area.current?.setSelectionRange(start, end === -1 ? text.length : end);
  };
  const select = (id: string | undefined): void => {
    setSelected(id);
    if (id === undefined || draft.kind !== 'json') return;
    const index = draft.chart.states.findIndex((state) => state.id === id);
    if (index >= 0) show({ path: `steps[${index}]`, message: '' });
  };
  const verdict = !mayStore
    ? ''
    : faults.length > 0
      ? plural(faults.length, 'fault')
      : isChecked
        ? 'No faults'
        : 'Checking …';
  return (
    <>
      <PageHead
        title="Definition editor"
        actions={
          <Button
            look="primary"
            disabled={!mayStore || !isChecked || faults.length > 0 || store.isPending}
            onClick={() => store.mutate()}
          >
            Store
          </Button>
        }
      >
        <span role="status">{verdict}</span>
      </PageHead>
      {may === false && (
        <p className={css['note']}>
          This key lacks the scope <code>execute</code>, which checking and storing need. The picture is drawn all the
          same.
        </p>
      )}
      {store.error !== null && <ProblemNotice error={store.error} />}
      {check.error !== null && <ProblemNotice error={check.error} onRetry={() => void check.refetch()} />}
      {store.data !== undefined && (
        <p role="status" className={css['note']}>
          {store.data.stored === 'created' ? 'Stored: ' : 'It was stored already: '}
          <PageLink to={`/definitions/${store.data.id}`} params={{ v: String(store.data.version) }}>
            {store.data.id} version {store.data.version}
          </PageLink>
        </p>
      )}
      <Split
        sideName="Text"
        side={
          <>
            <label htmlFor={areaId}>Definition, as JSON</label>
            <textarea
              id={areaId}
              ref={area}
              className={css['text']}
              spellCheck={false}
              value={text}
              aria-invalid={faults.length > 0}
              aria-describedby={faults.length > 0 ? `${areaId}-faults` : undefined}
              onChange={({ target }) => setText(target.value)}
            />
            <FaultList id={`${areaId}-faults`} faults={faults} text={settled} onShow={show} />
          </>
        }
      >
        {draft.kind === 'json' ? (
          <Statechart
            name="Statechart of the draft"
            chart={draft.chart}
            marks={marks}
            selected={selected}
            onSelect={select}
          />
        ) : (
          <p className={css['note']}>The picture is drawn when the text is JSON.</p>
        )}
      </Split>
    </>
  );
};

/** Writes a definition: drawn and checked as it is typed. The text stays in this tab; no address holds it. */
export const Editor = ({ id, version }: { readonly id: string | undefined; readonly version: number | undefined }) => {
  const [{ project }] = useShared();
  const isNew = id === undefined || version === undefined;
  const query = useQuery({
    queryKey: ['definitions', id, version, project],
    enabled: !isNew,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/definitions/{id}/versions/{version}', {
          params: { path: { id: id ?? '', version: version ?? 0 }, query: project === undefined ? {} : { project } },
          signal,
        }),
      ),
  });
  if (isNew) return <Writing initial={JSON.stringify(SAMPLE_DEFINITION, null, 2)} />;
  return (
    <Loaded query={query} what="the definition">
      {({ definition }) => <Writing initial={JSON.stringify({ ...definition, version: version + 1 }, null, 2)} />}
    </Loaded>
  );
};
