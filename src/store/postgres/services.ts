import { SERVICES } from './application.ts';
import type { Ask } from './connection.ts';

/** How many services have connections to the database. A pooler before it shows those whose statements run at the moment. */
export const countServices = async (ask: Ask): Promise<number> => {
  const [[count] = [0n]] = await ask<[bigint]>(
    `SELECT count(DISTINCT application_name) FROM pg_stat_activity
     WHERE datname = current_database() AND starts_with(application_name, $1)`,
    [SERVICES],
  );
  return Number(count);
};
