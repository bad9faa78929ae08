import type { Ask, Bound } from '../connection.ts';

/** A statement that changes rows of one table. It has no RETURNING of its own. */
type Part = {
  readonly table: string;
  readonly sql: string;
  readonly values: readonly Bound[];
  /** How many rows it must change, and what fails the commit otherwise. */
  readonly expects?: { readonly rows: number; readonly otherwise: () => Promise<never> };
};

export type Bundle = {
  /**
   * Adds a statement. Those that were added before and touch its table, or one that it reads, are sent first.
   * @param reads other tables of which it must see what was added before
   */
  readonly add: (part: Part, reads?: readonly string[]) => Promise<void>;
  /** Sends what was added. */
  readonly flush: () => Promise<void>;
};

/**
 * Joins statements of one transaction that touch different tables into one, because each is a way to the database and back. The parts of
 * a statement see the rows as they were before it, and none sees what another of them does.
 * @see PostgreSQL documentation, "Data-Modifying Statements in WITH"
 */
export const bundling = (ask: Ask): Bundle => {
  let parts: Part[] = [];
  const flush = async (): Promise<void> => {
    if (parts.length === 0) return;
    const sent = parts;
    parts = [];
    const values: Bound[] = [];
    const withs = sent.map(({ sql, values: own }, n) => {
      const before = values.length;
      values.push(...own);
      return `s${n} AS (${sql.replace(/\$(\d+)/g, (_, place: string) => `$${Number(place) + before}`)} RETURNING 1)`;
    });
    const counts = sent.map((_, n) => `(SELECT count(*) FROM s${n})`);
    const [changed = []] = await ask<bigint[]>(`WITH ${withs.join(', ')} SELECT ${counts.join(', ')}`, values);
    for (const [n, { expects }] of sent.entries())
      if (expects !== undefined && Number(changed[n]) !== expects.rows) await expects.otherwise();
  };
  return {
    add: async (part, reads = []) => {
      if (parts.some(({ table }) => table === part.table || reads.includes(table))) await flush();
      parts.push(part);
    },
    flush,
  };
};
