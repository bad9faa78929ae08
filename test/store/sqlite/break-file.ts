import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

const O_RDWR = 2;

/**
 * Takes a file from under SQLite: every descriptor of it that may write now reads /dev/null, so the next write fails as a
 * broken disk would make it fail. It needs a process of its own, because it meddles with the table of descriptors.
 * @returns how many descriptors it broke
 */
export const breakFile = (path: string): number => {
  const broken = readdirSync('/proc/self/fd').filter((name) => {
    try {
      if (readlinkSync(`/proc/self/fd/${name}`) !== path) return false;
      const flags = /flags:\s+(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'utf8'))?.[1];
      return (Number.parseInt(flags ?? '0', 8) & O_RDWR) !== 0;
    } catch {
      return false; // the descriptor that listed the folder
    }
  });
  for (const name of broken) {
    const target = Number(name);
    closeSync(target);
    // The lowest free number is given first: take all below the target, then the target, then give the others back.
    const taken: number[] = [];
    let fd = openSync('/dev/null', 'r');
    while (fd < target) {
      taken.push(fd);
      fd = openSync('/dev/null', 'r');
    }
    if (fd !== target) throw new Error('another descriptor took the place of the broken one');
    for (const other of taken) closeSync(other);
  }
  return broken.length;
};
