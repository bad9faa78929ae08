import type { LayoutRequest } from './layout-worker.ts';

/**
 * Where everything of a picture stands, found beside the page.
 * @param signal ends the work; then there is no answer
 * @throws Error when the script of the worker cannot be loaded, or fails
 */
export const requestLayout = <Layout>(request: LayoutRequest, signal?: AbortSignal): Promise<Layout> =>
  new Promise((resolve, reject) => {
    // A file of the origin: the content security policy allows no other worker.
    const worker = new Worker(new URL('./layout-worker.ts', import.meta.url), { type: 'module' });
    worker.addEventListener('message', ({ data }: MessageEvent<Layout>) => {
      worker.terminate();
      resolve(data);
    });
    worker.addEventListener('error', ({ message }) => {
      worker.terminate();
      reject(new Error(`the picture cannot be placed: ${message || 'its script did not load'}`));
    });
    signal?.addEventListener('abort', () => worker.terminate());
    worker.postMessage(request);
  });
