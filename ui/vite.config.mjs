import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** A running service, for `npm run dev -w ui`. */
const SERVICE = process.env.SVC_URL ?? 'http://127.0.0.1:4317';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    target: 'es2023',
    outDir: 'dist',
    emptyOutDir: true,
    // Nothing inline: the policy of the page forbids it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One sheet: a sheet for each module is twice as many bytes (small files hardly compress), and what wins among equal
    // rules would depend on which pages a reader had visited before.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        // What every page needs is one script, and what several pages share is another. Dozens of small ones hardly compress, and each costs a
        // request and a millisecond of the main thread before the page can begin.
        codeSplitting: {
          groups: [
            { name: 'entry', tags: ['$initial'] },
            { name: 'common', test: /ui[\\/]src[\\/](?:model|widgets)[\\/][^\\/]+$/, minShareCount: 2 },
          ],
        },
      },
    },
  },
  server: { proxy: { '/v1': SERVICE, '/healthz': SERVICE, '/readyz': SERVICE } },
});
