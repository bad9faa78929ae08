/** A table in Markdown. */
export const markdownTable = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  [`| ${header.join(' | ')} |`, `|${'---|'.repeat(header.length)}`, ...rows.map((cells) => `| ${cells.join(' | ')} |`)]
    .join('\n')
    .replaceAll(/ +\|/g, ' |');

const MARKED = /(<!-- table: ([a-z_]+), written by npm run docs -->\n)[\s\S]*?(\n<!-- end of table -->)/g;

/**
 * A page with its tables brought up to date.
 * @param tables by the name that the page's marks have
 * @throws Error when the page marks a table that is not known, or has no place for one that is
 */
export const withTables = (page: string, tables: Readonly<Record<string, () => string>>): string => {
  const missing = new Set(Object.keys(tables));
  const written = page.replaceAll(MARKED, (_all, begin: string, name: string, end: string) => {
    const write = tables[name];
    if (write === undefined) throw new Error(`the page marks a table "${name}", which is not known`);
    missing.delete(name);
    return `${begin}\n${write()}\n${end}`;
  });
  if (missing.size > 0) throw new Error(`the page has no place for: ${[...missing].join(', ')}`);
  return written;
};
