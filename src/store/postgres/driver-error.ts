import { StoreUnavailable } from '../unavailable.ts';

/** SQLSTATE of an error of the server, or the code of a socket; `undefined` for a bug of ours. */
export const errorCode = (error: unknown): string | undefined => {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
};

/** What the driver throws without a code when a connection ends under a statement, or it is silent. */
const BROKEN =
  /^(?:Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed)/;
/** What it throws where TLS was asked for, and the server has none. */
const WITHOUT_TLS = 'The server does not support SSL connections';
export const isWithoutTls = (error: unknown): boolean => error instanceof Error && error.message === WITHOUT_TLS;

const PROTOCOL_VIOLATION = '08P01';
/** Whether a pooler refuses what a session should start with. It says so with a code of its own making. */
export const refusesOptions = (error: unknown): boolean => errorCode(error) === PROTOCOL_VIOLATION;

/**
 * Codes that say the server is away, full, starting or stopping, or not the one that takes writes: classes 08 (connection), 53
 * (resources), 57P (operator), 58 (system), a read-only standby, a transaction that stood still, a statement or lock that took too long;
 * and those of sockets, which are none of values that Node refuses.
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const AWAY = /^(?:08...|53...|57P..|58...|25006|25P03|57014|55P03|E(?!RR_OUT_OF_RANGE|RR_INVALID_)[A-Z_]+)$/;
/** Two transactions stood in each other's way, and this one was ended. It may be run again. */
const CLASHED = /^(?:40001|40P01)$/;

/** The database refuses who asks: no retry helps, and the start says why. */
const REFUSED = /^(?:28...|3D000|42501)$/;

/** The certificate of the server, or ours, is not taken: codes of OpenSSL as Node gives them. */
const TLS = /^(?:ERR_(?:TLS|SSL|OSSL)_\w+|UNABLE_TO_[A-Z_]+|HOSTNAME_MISMATCH|[A-Z_]*(?:CERT|CRL)[A-Z_]*)$/;

/** Values that the database does not take: classes 22 (data) and 23 (constraints), and a row too large for an index. */
const OF_VALUES = /^(?:22...|23...|54000)$/;
export const isOfValues = (error: unknown): boolean => OF_VALUES.test(errorCode(error) ?? '');

/** Whether an error of connecting is one of the server, and not of ours: another host, or a later attempt, may do better. */
export const isAway = (error: unknown): boolean => {
  const code = errorCode(error);
  if (code === undefined) return error instanceof Error && BROKEN.test(error.message);
  return AWAY.test(code);
};

export const hasClashed = (error: unknown): boolean => CLASHED.test(errorCode(error) ?? '');

/**
 * What a caller of the store gets to see of an error: `StoreUnavailable`, fit for an operator, where the database is away or refuses;
 * a bug as it is.
 * @param store names it, as in "signal store"
 */
export const judgeError = (store: string, error: unknown): unknown => {
  if (!(error instanceof Error) || error instanceof StoreUnavailable) return error;
  const code = errorCode(error);
  if (isWithoutTls(error))
    return new StoreUnavailable(`${store}: the server has no TLS, and sslmode asks for it`, { cause: error });
  if (code === undefined)
    return BROKEN.test(error.message)
      ? new StoreUnavailable(`${store}: the connection to the database was lost`, { cause: error })
      : error;
  if (TLS.test(code))
    return new StoreUnavailable(`${store}: the certificates do not fit what sslmode asks for (${code})`, {
      cause: error,
    });
  if (REFUSED.test(code))
    return new StoreUnavailable(`${store}: the database refuses (${code}): ${error.message}`, { cause: error });
  if (CLASHED.test(code)) return new StoreUnavailable(`${store}: too many writes at once (${code})`, { cause: error });
  if (AWAY.test(code))
    return new StoreUnavailable(`${store}: the database does not answer (${code})`, { cause: error });
  // The server's words quote the value, which may be a payload: they reach no log.
  if (isOfValues(error))
    return Object.assign(new Error(`${store}: the database does not take a value (${code})`), {
      code,
      ...('constraint' in error ? { constraint: error.constraint } : {}),
    });
  return error;
};
