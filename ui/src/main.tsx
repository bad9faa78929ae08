import './widgets/base.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { isTransient, Problem } from './api/problem.ts';
import { router } from './pages/router.tsx';
import { preloadDialogs } from './widgets/dialog.tsx';
import { KeyDialogProvider } from './widgets/key-dialog.tsx';
import { LiveProvider } from './widgets/live.tsx';
import { PrefsProvider } from './widgets/prefs.tsx';
import { ShortcutsProvider } from './widgets/shortcuts.tsx';

const MAX_RETRIES = 2;
const RETRY_MS = 1000;
/** How long what no page shows any more is there at once for who goes back: traces are megabytes each, and are not gathered. */
const KEPT_MS = 5_000;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      gcTime: KEPT_MS,
      refetchOnWindowFocus: true,
      retry: (times, error) => times < MAX_RETRIES && isTransient(error),
      retryDelay: (times, error) => (error instanceof Problem && error.retryAfterMs) || RETRY_MS * 2 ** times,
    },
  },
});

const place = document.getElementById('root');
if (place === null) throw new Error('the page has no root');
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <PrefsProvider>
        <LiveProvider>
          <ShortcutsProvider>
            <KeyDialogProvider>
              <RouterProvider router={router} />
            </KeyDialogProvider>
          </ShortcutsProvider>
        </LiveProvider>
      </PrefsProvider>
    </QueryClientProvider>
  </StrictMode>,
);
preloadDialogs();
