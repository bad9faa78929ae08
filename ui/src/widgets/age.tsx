import { formatAge, formatInstant } from '../model/units.ts';
import { useNow } from './now.ts';

const EACH_MS = 5_000;

/** How long ago something was; the tooltip has the time. */
export const Age = ({ at }: { readonly at: string | undefined }) => {
  const now = useNow(EACH_MS);
  if (at === undefined) return <>—</>;
  return (
    <time dateTime={at} title={`${formatInstant(at, 'local')} local · ${formatInstant(at, 'utc')} UTC`}>
      {formatAge(at, now)}
    </time>
  );
};
