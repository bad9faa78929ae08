import type { components } from '../../api/types.ts';
import { Instant } from '../../widgets/instant.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import css from './watch.module.css';

type Transition = components['schemas']['WatchTransition'];

const eventWords: Readonly<Record<Transition['event'], string>> = {
  'watch.started': 'the service started',
  'evaluation.ended': 'a reading',
  'trip.acknowledged': 'acknowledged by somebody',
};

/** Every change of a condition, newest first. */
export const Transitions = ({
  transitions,
  isCut,
}: {
  readonly transitions: readonly Transition[];
  readonly isCut: boolean;
}) => (
  <section aria-labelledby="transitions">
    <h2 id="transitions">Transitions</h2>
    <ul className={css['transitions']}>
      {transitions.map((transition) => (
        <li key={transition.seq}>
          <Instant at={transition.at} />
          <StatusMark state={transition.to} />
          <span>{eventWords[transition.event]}</span>
          <span className={css['grow']}>{transition.detail}</span>
        </li>
      ))}
    </ul>
    {isCut && <p className={css['note']}>The newest {transitions.length}; older ones are in the API’s history.</p>}
  </section>
);
