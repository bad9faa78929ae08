import { expect, it } from 'vitest';
import { feedbackText, feedbackWords, thumbsText } from '../../src/model/feedback.ts';

it('2.2 feedback as counts: ↑3 ↓1, and the same in words', () => {
  const judged = { feedback: { comment: 2, thumbs: 4 }, thumbs: { up: 3, down: 1 } };
  expect(feedbackText(judged)).toBe('comment 2, ↑3 ↓1');
  expect(feedbackWords(judged)).toBe('2 comment, 3 thumbs up, 1 thumbs down');
  expect(thumbsText(judged)).toBe('↑3 ↓1');
});

it('thumbs of which nobody counted how they point stay a number, and no feedback is a dash', () => {
  expect(feedbackText({ feedback: { thumbs: 4 } })).toBe('thumbs 4');
  expect(feedbackWords({ feedback: { thumbs: 4 } })).toBe('4 thumbs');
  expect(thumbsText({ feedback: {} })).toBe('—');
  expect(feedbackText({ feedback: {} })).toBe('—');
});
