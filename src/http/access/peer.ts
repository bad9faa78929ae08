import { BlockList, isIP } from 'node:net';

export type TrustedRanges = {
  /** Whether a socket's peer may name the person behind a request. */
  readonly includes: (address: string) => boolean;
};

/**
 * Compiles address ranges into one check. An address that arrived as IPv4 over an IPv6 socket is checked as
 * IPv4 (the list of `node:net` does so).
 * @param ranges CIDR ranges or single addresses, IPv4 or IPv6
 * @throws RangeError naming the first range that is none
 * @see Interface decisions, "3. Keys and scopes", Audit
 */
export const parseTrustedRanges = (ranges: readonly string[]): TrustedRanges => {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits, ...more] = range.split('/');
    const version = isIP(address);
    const most = version === 4 ? 32 : 128;
    const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
    if (version === 0 || more.length > 0 || prefix < 0 || prefix > most)
      throw new RangeError(`"${range}" is not an address range: write one as 10.0.0.0/8 or fd00::/8`);
    list.addSubnet(address, prefix, version === 4 ? 'ipv4' : 'ipv6');
  }
  return {
    includes: (address) => {
      const version = isIP(address);
      return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6');
    },
  };
};

const MAX_SUBJECT_CHARACTERS = 256;

/**
 * The person behind a request, from the header. Control characters are written out, so that a subject can never forge a line
 * where it is shown.
 * @param header the header's value; repeated headers arrive as a list and name nobody
 */
export const readSubject = (header: string | readonly string[] | undefined): string | undefined => {
  if (typeof header !== 'string' || header.trim() === '') return undefined;
  // Node reads header bytes as Latin-1; what was sent is UTF-8 by today's custom.
  const text = Buffer.from(header.trim(), 'latin1').toString('utf8');
  return text
    .slice(0, MAX_SUBJECT_CHARACTERS)
    .replace(
      /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
};
