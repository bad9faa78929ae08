import type { components } from '../api/types.ts';
import { formatCount, UNKNOWN } from './units.ts';

type Judged = Pick<components['schemas']['TraceSummary'], 'feedback' | 'thumbs'>;

/** Thumbs as they point, where that was counted: two numbers, which are never one. */
export const thumbsText = ({ feedback, thumbs }: Judged): string =>
  thumbs === undefined ? formatCount(feedback['thumbs']) : `↑${formatCount(thumbs.up)} ↓${formatCount(thumbs.down)}`;

const thumbsWords = ({ feedback, thumbs }: Judged): string =>
  thumbs === undefined
    ? `${formatCount(feedback['thumbs'])} thumbs`
    : `${formatCount(thumbs.up)} thumbs up, ${formatCount(thumbs.down)} thumbs down`;

/** Feedback is counted, never averaged, and stands apart from scores: `↑3 ↓1, comment 2`. */
export const feedbackText = (judged: Judged): string =>
  Object.entries(judged.feedback)
    .map(([kind, count]) =>
      kind === 'thumbs' && judged.thumbs !== undefined ? thumbsText(judged) : `${kind} ${formatCount(count)}`,
    )
    .join(', ') || UNKNOWN;

/** The same for who hears it. */
export const feedbackWords = (judged: Judged): string =>
  Object.entries(judged.feedback)
    .map(([kind, count]) => (kind === 'thumbs' ? thumbsWords(judged) : `${formatCount(count)} ${kind}`))
    .join(', ') || 'none';
