import './style.css';
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { askForFirstView, createQueryClient } from './api/queries.ts';
import { createConsoleRouter } from './router.tsx';

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no #root');
const queryClient = createQueryClient();
askForFirstView(queryClient, window.location.pathname);
createRoot(root).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={createConsoleRouter(queryClient)} />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
