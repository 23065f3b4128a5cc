/**
 * Addresses of the console, as its own router has them (`control-plane/console/src/router.tsx`), apart from `/`. The server
 * answers these with the console's page and no others, so that an unknown address is still 404.
 */
export const SCREENS = [
  '/agents',
  '/agents/new',
  '/agents/:id',
  '/credentials',
  '/credentials/:serviceName',
  '/credentials/:serviceName/secret',
  '/add-credential',
  '/reach',
  '/policies',
  '/policies/new',
  '/policies/simulate',
  '/policies/:id',
  '/policies/:id/edit',
  '/approvals',
  '/approvals/:id',
  '/activity',
  '/activity/:seq',
  '/connect',
  '/connect/new',
  '/connect/import',
  '/connect/:id',
  '/webhook',
  '/people',
  '/limits',
  '/account',
] as const;
