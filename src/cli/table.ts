/** The lines of a table whose columns are as wide as their widest cell. */
export const tableLines = (rows: readonly (readonly string[])[]): string[] => {
  const widths: number[] = [];
  for (const row of rows) for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
};

/** The same as a text to print. */
export const table = (rows: readonly (readonly string[])[]): string =>
  tableLines(rows)
    .map((line) => `${line}\n`)
    .join('');
