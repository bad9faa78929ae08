import { diffWords } from '../model/compare.ts';
import { payloadText, previewOf } from '../model/payload.ts';
import css from './word-diff.module.css';

/** What differs between two payloads, word by word; of texts that are too long for it, both heads. */
export const WordDiff = ({ before, after }: { readonly before: unknown; readonly after: unknown }) => {
  const parts = diffWords(
    before === undefined ? '' : payloadText(before),
    after === undefined ? '' : payloadText(after),
  );
  if (parts === undefined)
    return (
      <>
        <p>Too long for a diff by words. The beginning of each:</p>
        {[before, after].map((value, side) => (
          <pre key={side === 0 ? 'a' : 'b'} className={css['text']}>
            {previewOf(value).text.slice(0, 4000)}
          </pre>
        ))}
      </>
    );
  if (parts.every(({ kind }) => kind === 'same')) return <p>No word differs.</p>;
  return (
    <div className={css['text']}>
      {parts.map(({ kind, text }, at) =>
        kind === 'same' ? (
          <span key={`${at}${kind}`}>{text}</span>
        ) : kind === 'removed' ? (
          <del key={`${at}${kind}`}>{text}</del>
        ) : (
          <ins key={`${at}${kind}`}>{text}</ins>
        ),
      )}
    </div>
  );
};
