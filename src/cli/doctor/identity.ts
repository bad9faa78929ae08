import { holdWholeInternet, isPrivateRange, prefixOf } from './address-space.ts';
import type { Look } from './deployment.ts';
import { counted, type Finding, fault, ok, warning } from './finding.ts';

/** A public range that fixes fewer bits than these is more than the proxies of one site. */
const NARROW_BITS = { 4: 24, 6: 48 } as const;

const isNarrow = (range: string): boolean => {
  if (isPrivateRange(range)) return true;
  const { family, bits } = prefixOf(range);
  return bits >= NARROW_BITS[family];
};

/** Who may name the person behind a request. @see Interface decisions, "3. Keys and scopes", Audit */
export const examineIdentity = ({ settings }: Look): Finding[] => {
  const { auditSubjectHeader: header, auditTrustedRange: ranges } = settings;
  if (ranges.length === 0)
    return [ok(`no address may set ${header}: the audit log names keys and addresses, no persons`)];
  const mend = 'narrow --audit-trusted-range to the addresses of your own proxies';
  if (holdWholeInternet(ranges))
    return [
      fault(
        `--audit-trusted-range ${ranges.join(', ')} holds the whole internet: everyone may write any name into the audit log with ${header}`,
        mend,
      ),
    ];
  const wide = ranges.filter((range) => !isNarrow(range));
  return [
    ...wide.map((range) => warning(`${range} may set ${header}, which is more than the proxies of one site`, mend)),
    ...(wide.length < ranges.length
      ? [ok(`${counted(ranges.length - wide.length, 'narrow range')} may set ${header}`)]
      : []),
  ];
};
