import type { FastifyRequest } from 'fastify';

export type Coding = 'zstd' | 'br' | 'gzip';

// Best first: zstd is the fastest of the three at about the ratio of brotli's middle levels.
const codings: readonly Coding[] = ['zstd', 'br', 'gzip'];

/** Weights of the members of an Accept or Accept-Encoding header, by their lower-case names. */
const weights = (header: string): Map<string, number> => {
  const found = new Map<string, number>();
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    if (name === '') continue;
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    const weight = quality === undefined ? 1 : Number(quality);
    found.set(name, Number.isFinite(weight) ? weight : 0);
  }
  return found;
};

/**
 * The coding to answer in: the best one that the client accepts.
 * @param among codings that can be answered in, best first; all of them by default
 * @see RFC 9110, section 12.5.3
 */
export const chooseCoding = <C extends Coding>(
  acceptEncoding: string | undefined,
  among: readonly C[] = codings as readonly C[],
): C | undefined => {
  if (acceptEncoding === undefined) return undefined;
  const accepted = weights(acceptEncoding);
  return among.find((coding) => (accepted.get(coding) ?? accepted.get('*') ?? 0) > 0);
};

/**
 * Whether a client takes one of the media types that an operation answers in.
 * @see RFC 9110, section 12.5.1
 */
export const accepts = (accept: string | undefined, produces: readonly string[]): boolean => {
  if (accept === undefined || accept.trim() === '' || produces.length === 0) return true;
  const accepted = weights(accept);
  return produces.some((type) => {
    const family = `${type.split('/')[0]}/*`;
    return (accepted.get(type) ?? accepted.get(family) ?? accepted.get('*/*') ?? 0) > 0;
  });
};

/** Whether a request asks for an event stream: it names the type, and does not prefer JSON. */
export const asksForStream = ({ method, headers }: Pick<FastifyRequest, 'method' | 'headers'>): boolean => {
  if (method === 'HEAD' || headers.accept === undefined) return false;
  const accepted = weights(headers.accept);
  const stream = accepted.get('text/event-stream') ?? 0;
  return stream > 0 && stream >= (accepted.get('application/json') ?? 0);
};
