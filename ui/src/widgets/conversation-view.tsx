import { lazy, Suspense, useState } from 'react';
import type { Part, Turn } from '../model/conversation.ts';
import { Button } from './button.tsx';
import css from './conversation-view.module.css';
import { PayloadView } from './payload-view.tsx';

/** Few read Markdown: its reader is fetched when the first one asks. */
const MarkdownView = lazy(() => import('./markdown-view.tsx'));

const looks = ['Plain', 'Markdown', 'JSON'] as const;
type Look = (typeof looks)[number];

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

const PartView = ({ part, look }: { readonly part: Part; readonly look: Look }) => {
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
      ) : look === 'Markdown' && kind === 'text' ? (
        <Suspense fallback={null}>
          <MarkdownView text={text} />
        </Suspense>
      ) : (
        <div className={kind === 'text' ? css['text'] : css['code']}>
          {text.slice(0, PART_CHARACTERS)}
          {text.length > PART_CHARACTERS && '…'}
        </div>
      )}
    </div>
  );
};

const TurnView = ({ turn, at }: { readonly turn: Turn; readonly at: number }) => {
  const { role, parts, message } = turn;
  const [look, setLook] = useState<Look>('Plain');
  return (
    <li className={css['turn']} data-role={role}>
      <div className={css['role']}>
        {role}
        <select
          aria-label={`Look of message ${at + 1}`}
          value={look}
          onChange={({ target }) => setLook(looks.find((one) => one === target.value) ?? 'Plain')}
        >
          {looks.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </div>
      {look === 'JSON' ? (
        <PayloadView value={message} name={`message-${at + 1}`} />
      ) : (
        <div className={css['parts']}>
          {parts.map((part, place) => (
            <PartView key={`${place}${part.kind}`} part={part} look={look} />
          ))}
          {parts.length === 0 && <span className={css['what']}>empty</span>}
        </div>
      )}
    </li>
  );
};

/** Messages as a readable thread: plain text, whatever they hold, until a reader asks for another look of one. */
export const ConversationView = ({
  turns,
  first = 0,
}: {
  readonly turns: readonly Turn[];
  /** The place of the first one, where more stand elsewhere. */
  readonly first?: number;
}) => (
  <ol className={css['turns']}>
    {turns.map((turn, at) => (
      <TurnView key={at} turn={turn} at={first + at} />
    ))}
  </ol>
);
