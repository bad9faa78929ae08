/** Words of a text in lines of at most so many characters; a longer word has a line of its own. */
export const wrap = (text: string, width: number): readonly string[] => {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').filter((each) => each !== '')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
};

/** `cache_write_5m` becomes `CacheWrite5m`, `run.started` becomes `RunStarted`. */
export const pascalCase = (name: string): string =>
  name.replace(/(?:^|[_.])(.)/g, (_, letter: string) => letter.toUpperCase());

/** `cache_write_5m` becomes `cacheWrite5m`. */
export const camelCase = (name: string): string =>
  name.replace(/[_.](.)/g, (_, letter: string) => letter.toUpperCase());
