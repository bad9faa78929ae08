import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const BROWSERS = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** The browser of the machine; nothing where it has none. */
export const findBrowser = (): string | undefined =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => BROWSERS.map((name) => join(folder, name)))
    .find((path) => existsSync(path));

export const NO_BROWSER = `no browser: none of ${BROWSERS.join(', ')} is on the path (apt-get install chromium-headless-shell)`;

/** Root has no sandbox, and the shared memory of a container is small. */
export const browserFlags = ['--no-sandbox', '--disable-dev-shm-usage'];
