import { parseUrl, type ServerAddress } from '../store/clickhouse/address.ts';
import type { Settings } from './settings.ts';

/** The server that the settings name for the signals; `undefined` where they name none, or one that the settings refuse. */
export const columnarOf = ({
  colstoreUrl,
  colstoreDatabase,
  colstoreUser,
  colstorePassword,
}: Pick<Settings, 'colstoreUrl' | 'colstoreDatabase' | 'colstoreUser' | 'colstorePassword'>):
  | ServerAddress
  | undefined => {
  const url = colstoreUrl === undefined ? undefined : parseUrl(colstoreUrl);
  if (url?.ok !== true) return undefined;
  return {
    ...url.value,
    database: colstoreDatabase,
    user: colstoreUser,
    ...(colstorePassword === undefined ? {} : { password: colstorePassword }),
  };
};
