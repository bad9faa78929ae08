import { formatInstant } from '../model/units.ts';
import { usePrefs } from './prefs.tsx';

/** A time in the reader's zone; the tooltip has both zones. */
export const Instant = ({ at }: { readonly at: string | undefined }) => {
  const { zone } = usePrefs().prefs;
  if (at === undefined) return <>—</>;
  return (
    <time dateTime={at} title={`${formatInstant(at, 'local')} local · ${formatInstant(at, 'utc')} UTC · ${at}`}>
      {formatInstant(at, zone)}
    </time>
  );
};
