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

/** Where IPv6 carries IPv4 addresses as a socket's peer may be written: `::ffff:a.b.c.d`. */
const MAPPED_FIRST = 0xffffn << 32n;
const MAPPED_LAST = MAPPED_FIRST + 0xffff_ffffn;

/** A range of mapped addresses alone is the range of the IPv4 addresses they stand for: so a peer is compared. */
const spanOf = (range: string): Span => {
  const [address = '', bits] = range.split('/');
  const family = isIP(address) === 6 ? 6 : 4;
  const size = 1n << BigInt(BITS[family] - (bits === undefined ? BITS[family] : Number(bits)));
  const first = (numberOf(address, family) / size) * size;
  const last = first + size - 1n;
  if (family === 6 && first >= MAPPED_FIRST && last <= MAPPED_LAST)
    return { family: 4, first: first - MAPPED_FIRST, last: last - MAPPED_FIRST };
  return { family, first, last };
};

/** The range, and all of IPv4 beside it when it holds every mapped address. */
const spansOf = (range: string): Span[] => {
  const span = spanOf(range);
  const holdsMapped = span.family === 6 && span.first <= MAPPED_FIRST && span.last >= MAPPED_LAST;
  return holdsMapped ? [span, { family: 4, first: 0n, last: MAPPED_LAST - MAPPED_FIRST }] : [span];
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
