import { useMutation, useQueryClient } from '@tanstack/react-query';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { api, ask } from '../../api/client.ts';
import { type Monitor, type Slo, uptimeText, type WatchState, watchStates } from '../../model/watch.ts';
import { Age } from '../../widgets/age.tsx';
import { Button } from '../../widgets/button.tsx';
import { useHealth } from '../../widgets/health.ts';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { ProblemNotice } from '../../widgets/states.tsx';
import css from './watch.module.css';

type Kind = 'monitor' | 'slo';

/** Says that a tripped one is known; its button is there while it is tripped, and its age once it was said. */
export const Acknowledgement = ({ kind, watched }: { readonly kind: Kind; readonly watched: Monitor | Slo }) => {
  const client = useQueryClient();
  const may = useMay('write', watched.project);
  const acknowledge = useMutation({
    mutationFn: () => {
      const params = { params: { path: { id: watched.id } } };
      return kind === 'monitor'
        ? ask<unknown>(api.POST('/v1/api/monitors/{id}/ack', params))
        : ask<unknown>(api.POST('/v1/api/slos/{id}/ack', params));
    },
    onSettled: () => client.invalidateQueries({ queryKey: [`${kind}s`] }),
  });
  if (watched.condition === 'nominal') return null;
  return (
    <>
      <div className={css['ack']}>
        <span>
          Tripped <Age at={watched.tripped_at} />.
        </span>
        {watched.condition === 'acknowledged' ? (
          <span>
            Acknowledged <Age at={watched.acknowledged_at} />; it returns to nominal by itself when the condition ends.
          </span>
        ) : (
          <>
            <Button
              disabled={may !== true || acknowledge.isPending}
              aria-label={`Acknowledge ${watched.name}`}
              onClick={() => acknowledge.mutate()}
            >
              Acknowledge
            </Button>
            <NeedsScope scope="write" may={may} />
          </>
        )}
      </div>
      {acknowledge.error !== null && <ProblemNotice error={acknowledge.error} />}
    </>
  );
};

/** How many stand how; each chooses those alone. */
export const StateFilter = ({
  states,
  chosen,
  onChoose,
}: {
  readonly states: readonly WatchState[];
  readonly chosen: WatchState | undefined;
  readonly onChoose: (state: WatchState | undefined) => void;
}) => (
  <div role="group" aria-label="Filters" className={css['states']}>
    {watchStates.map((state) => {
      const count = states.filter((one) => one === state).length;
      if (count === 0 && chosen !== state) return null;
      const isChosen = chosen === state;
      return (
        <Button
          key={state}
          aria-pressed={isChosen}
          aria-label={isChosen ? `Remove filter state: ${state} ${count}` : undefined}
          onClick={() => onChoose(isChosen ? undefined : state)}
        >
          {state} {count}
          {isChosen && <X size={12} aria-hidden />}
        </Button>
      );
    })}
  </div>
);

/** What holds for every condition. */
export const ConditionNote = ({ children }: { readonly children?: ReactNode }) => {
  const { data } = useHealth();
  const up = data === undefined ? '' : `, up ${uptimeText(data.uptime_seconds)}`;
  return (
    <p className={css['note']}>
      {children} A condition is rebuilt from readings: it starts nominal whenever the service starts (rebuilt at start
      {up}
      ). Fewer samples than <code>min_samples</code> neither trip nor recover anything.
    </p>
  );
};
