import type { Brief } from '../model/brief.ts';
import { formatCount, plural } from '../model/units.ts';
import css from './brief-view.module.css';
import { CopyButton } from './button.tsx';
import { dialogCss } from './dialog.tsx';

export { css as briefCss };

export const BUDGETS = [2000, 8000, 32_000, 100_000] as const;
export type Budget = (typeof BUDGETS)[number];
export const USUAL_BUDGET: Budget = 8000;
/** More of a text is copied than is shown. */
const SHOWN_CHARACTERS = 20_000;

/** How many tokens a brief may have. */
export const BudgetSelect = ({
  value,
  onChoose,
}: {
  readonly value: Budget;
  readonly onChoose: (budget: Budget) => void;
}) => (
  <label>
    At most{' '}
    <select
      aria-label="Tokens at most"
      value={value}
      onChange={({ target }) => onChoose(BUDGETS.find((size) => String(size) === target.value) ?? USUAL_BUDGET)}
    >
      {BUDGETS.map((size) => (
        <option key={size} value={size}>
          {formatCount(size)} tokens
        </option>
      ))}
    </select>
  </label>
);

/** A brief, what was left out of it, and a way to copy it. */
export const BriefView = ({ brief }: { readonly brief: Brief }) => (
  <>
    <p>
      About {plural(brief.tokens, 'token')}, as Markdown.{' '}
      {brief.cut.length === 0 ? 'Nothing was cut.' : `Left out to fit: ${plural(brief.cut.length, 'part')}.`}
    </p>
    {brief.cut.length > 0 && (
      <ul className={css['cut']} tabIndex={0} aria-label="Left out">
        {brief.cut.map((line, at) => (
          <li key={`${at}${line}`}>{line}</li>
        ))}
      </ul>
    )}
    <pre className={css['text']} role="region" tabIndex={0} aria-label="Markdown">
      {brief.text.slice(0, SHOWN_CHARACTERS)}
    </pre>
    <div className={`${dialogCss['row']} ${dialogCss['end']}`}>
      <CopyButton label="Copy" text={brief.text}>
        as Markdown
      </CopyButton>
    </div>
  </>
);
