import { afterAll, beforeAll } from 'vitest';
import { type ManagementService, startService } from './management-service.ts';

/** A service for the tests of a file or a `describe`; its members are there once the first `beforeAll` has run. */
export function useService(more?: Readonly<Record<string, string>>): ManagementService {
  const service = {} as ManagementService;
  let stop: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    ({ stop } = Object.assign(service, await startService(more)));
  });
  afterAll(() => stop?.());
  return service;
}
