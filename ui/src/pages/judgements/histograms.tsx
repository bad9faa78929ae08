import { formatCount } from '../../model/units.ts';
import { formatNumber } from '../../model/watch.ts';
import { groupScores, nameOfScorer, type Score } from '../../model/scores.ts';
import css from './judgements.module.css';

/** How the scores that were read lie, each scorer and version by itself. */
export const Histograms = ({ scores }: { readonly scores: readonly Score[] }) => (
  <div className={css['groups']}>
    {groupScores(scores).map((group) => {
      const name = nameOfScorer(group.scorerId, group.version);
      const highest = Math.max(1, ...group.bins);
      return (
        <figure key={`${name} ${group.min} ${group.max}`} className={css['group']} aria-label={name}>
          <figcaption>
            <b>{name}</b>
            <span>
              mean {formatNumber(group.mean)}, n {formatCount(group.count)}
            </span>
          </figcaption>
          <div
            role="img"
            aria-label={`Scores in each tenth from ${group.min} to ${group.max}: ${group.bins.join(', ')}`}
            className={css['bins']}
          >
            {group.bins.map((count, index) => (
              <span key={index} style={{ height: `${(count / highest) * 100}%` }} />
            ))}
          </div>
          <div className={css['scale']} aria-hidden>
            <span>{formatNumber(group.min)}</span>
            <span>{formatNumber(group.max)}</span>
          </div>
        </figure>
      );
    })}
  </div>
);
