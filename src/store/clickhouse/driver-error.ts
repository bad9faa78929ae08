import { ClickHouseError } from '@clickhouse/client';
import { StoreUnavailable } from '../unavailable.ts';

/** The number of an error of the server, as text, or the code of a socket; `undefined` for a bug of ours. */
export const errorCode = (error: unknown): string | undefined => {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
};

/**
 * Numbers that say the server is away, full, starting or stopping, too busy, or too slow: timeouts (159, 160, 209), sockets (210), too many
 * queries (202), memory (241, 242: read-only), parts (252), a quorum (285, 286, 289, 319), load (745), the coordinator (999); and the codes of sockets.
 * @see src/Common/ErrorCodes.cpp of ClickHouse
 */
const AWAY = /^(?:159|160|202|203|209|210|236|241|242|243|252|285|286|289|319|394|439|735|745|999|E[A-Z_]+)$/;
/** No space is left on the disk of the server, or it failed. */
const FULL = /^(?:75|76|84|243)$/;
/** The server refuses this user. A retry does not help; the start fails and says why. */
const REFUSED = /^(?:81|164|192|193|194|497|516)$/;
/** What the driver throws without a code when it gives up an answer, or a connection ends. */
const BROKEN = /^(?:Timeout error|The request was aborted|socket hang up|aborted)/i;
/** The certificate of the server is not taken: codes of OpenSSL as Node gives them. */
const TLS = /^(?:ERR_(?:TLS|SSL|OSSL)_\w+|UNABLE_TO_[A-Z_]+|HOSTNAME_MISMATCH|[A-Z_]*(?:CERT|CRL)[A-Z_]*)$/;

/**
 * Whether an answer is none of the server's, but of a proxy before it: the driver makes a plain error of its body.
 * @see parseError of @clickhouse/client
 */
const isForeign = (error: Error): boolean =>
  Object.getPrototypeOf(error) === Error.prototype && errorCode(error) === undefined && !BROKEN.test(error.message);

/** Whether it is unknown if the server ran the statement: the connection ended, no answer came, or a proxy answered in its place. */
export const isUnanswered = (error: unknown): boolean =>
  error instanceof Error &&
  !(error instanceof ClickHouseError) &&
  (isForeign(error) || BROKEN.test(error.message) || /^E[A-Z_]+$/.test(errorCode(error) ?? ''));

/** What is left of an error of the server or a proxy: its words quote statements and values, and reach neither a log nor an answer. */
const bare = (message: string, code?: string): Error =>
  Object.assign(new Error(message), code === undefined ? {} : { code });

/**
 * What a caller of the store gets to see of an error: `StoreUnavailable`, fit for an operator, where the server is away or refuses; an
 * error with the number of the server where a statement or a value of ours is wrong; any other bug as it is.
 * @param store names it, as in "signal store"
 */
export const judgeError = (store: string, error: unknown): unknown => {
  if (!(error instanceof Error) || error instanceof StoreUnavailable) return error;
  const code = errorCode(error);
  if (error instanceof ClickHouseError) {
    const cause = bare(`error ${error.code} of ClickHouse`, error.code);
    if (REFUSED.test(error.code))
      return new StoreUnavailable(`${store}: ClickHouse refuses (${error.code})`, { cause });
    if (AWAY.test(error.code) || FULL.test(error.code))
      return new StoreUnavailable(`${store}: ClickHouse cannot answer now (${error.code})`, { cause });
    return bare(`${store}: ClickHouse does not take a statement (${error.code})`, error.code);
  }
  if (isForeign(error)) return new StoreUnavailable(`${store}: what answers is not ClickHouse; is it a proxy?`);
  if (code !== undefined && TLS.test(code))
    return new StoreUnavailable(`${store}: the certificate of ClickHouse is not taken (${code})`, { cause: error });
  if (isUnanswered(error) || (code !== undefined && AWAY.test(code)))
    return new StoreUnavailable(`${store}: ClickHouse does not answer${code === undefined ? '' : ` (${code})`}`, {
      cause: error,
    });
  return error;
};
