import { useState } from 'react';
import type { Part, Turn } from '../model/conversation.ts';
import { Button } from './button.tsx';
import css from './conversation-view.module.css';

/** Drawn of one part; the tabs with the payload have all of it. */
const PART_CHARACTERS = 20_000;

const TITLES = { text: undefined, call: 'calls', result: 'result', image: 'image', other: undefined } as const;

const Picture = ({ text, address }: { readonly text: string; readonly address: string }) => {
  const [isShown, setShown] = useState(false);
  return (
    <div>
      <Button aria-expanded={isShown} onClick={() => setShown((before) => !before)}>
        {isShown ? 'Hide the image' : 'Show the image'}
      </Button>{' '}
      {text}
      {isShown && <img className={css['image']} src={address} alt={`Sent in the conversation: ${text}`} />}
    </div>
  );
};

const PartView = ({ part }: { readonly part: Part }) => {
  const { kind, text } = part;
  const title = TITLES[kind];
  const name = kind === 'call' || kind === 'result' ? part.name : undefined;
  return (
    <div className={css['part']} data-kind={kind}>
      {title !== undefined && (
        <span className={css['what']}>
          {title} {name !== undefined && <code>{name}</code>}
        </span>
      )}
      {kind === 'image' ? (
        <Picture text={text} address={part.address} />
      ) : (
        <div className={kind === 'text' ? css['text'] : css['code']}>
          {text.slice(0, PART_CHARACTERS)}
          {text.length > PART_CHARACTERS && '…'}
        </div>
      )}
    </div>
  );
};

/** Messages as a readable thread: plain text, whatever they hold. */
export const ConversationView = ({ turns }: { readonly turns: readonly Turn[] }) => (
  <ol className={css['turns']}>
    {turns.map((turn, at) => (
      <li key={at} className={css['turn']} data-role={turn.role}>
        <span className={css['role']}>{turn.role}</span>
        <div className={css['parts']}>
          {turn.parts.map((part, place) => (
            <PartView key={`${place}${part.kind}`} part={part} />
          ))}
          {turn.parts.length === 0 && <span className={css['what']}>empty</span>}
        </div>
      </li>
    ))}
  </ol>
);
