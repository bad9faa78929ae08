import { isIP } from 'node:net';

/** Addresses of one family, from first to last inclusive. */
type Span = { readonly family: 4 | 6; readonly first: bigint; readonly last: bigint };

const BITS = { 4: 32, 6: 128 } as const;

const groupsOf = (half: string): string[] => (half === '' ? [] : half.split(':'));

/** An address as a number. */
const numberOf = (address: string, family: 4 | 6): bigint => {
  if (family === 4) return address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n);
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address.replace(/%.*$/, ''));
  if (dotted !== null) {
    const carried = numberOf(dotted[2] ?? '', 4)
      .toString(16)
      .padStart(8, '0');
    return numberOf(`${dotted[1]}${carried.slice(0, 4)}:${carried.slice(4)}`, 6);
  }
  const [left = '', right] = address.replace(/%.*$/, '').split('::');
  const head = groupsOf(left);
  const tail = right === undefined ? [] : groupsOf(right);
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail].reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
};

const MAPPED = 0xffffn << 32n;

const spanOf = (range: string): Span => {
  const [address = '', bits] = range.split('/');
  const family = isIP(address) === 6 ? 6 : 4;
  const size = 1n << BigInt(BITS[family] - (bits === undefined ? BITS[family] : Number(bits)));
  const first = (numberOf(address, family) / size) * size;
  return { family, first, last: first + size - 1n };
};

/**
 * The range as spans of both families: an IPv6 range that holds IPv4-mapped addresses also means the IPv4 ones, because
 * that is how a socket's peer is compared.
 */
const spansOf = (range: string): Span[] => {
  const span = spanOf(range);
  if (span.family === 4) return [span];
  const first = span.first > MAPPED ? span.first : MAPPED;
  const last = span.last < MAPPED + 0xffff_ffffn ? span.last : MAPPED + 0xffff_ffffn;
  return first > last ? [span] : [span, { family: 4, first: first - MAPPED, last: last - MAPPED }];
};

const holds = (outer: Span, inner: Span): boolean =>
  outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last;

const nobodysOwn = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '::1/128',
  'fc00::/7',
  'fe80::/10',
  '::ffff:10.0.0.0/104',
  '::ffff:172.16.0.0/108',
  '::ffff:192.168.0.0/112',
  '::ffff:100.64.0.0/106',
  '::ffff:127.0.0.0/104',
  '::ffff:169.254.0.0/112',
].map(spanOf);

/** Whether every address of the range is private, shared, link-local or loopback: none is reached from the internet. */
export const isPrivateRange = (range: string): boolean => nobodysOwn.some((space) => holds(space, spanOf(range)));

/** How many leading bits a range fixes, and of how many. */
export const prefixOf = (range: string): { readonly family: 4 | 6; readonly bits: number } => {
  const { family, first, last } = spanOf(range);
  return { family, bits: BITS[family] - (last - first + 1n).toString(2).length + 1 };
};

/** Whether the ranges together hold every address of a family. */
export const holdWholeInternet = (ranges: readonly string[]): boolean => {
  const spans = ranges.flatMap(spansOf);
  return ([4, 6] as const).some((family) => {
    let next = 0n;
    for (const span of spans.filter((one) => one.family === family).toSorted((a, b) => (a.first < b.first ? -1 : 1)))
      if (span.first <= next && span.last >= next) next = span.last + 1n;
    return next === 1n << BigInt(BITS[family]);
  });
};
