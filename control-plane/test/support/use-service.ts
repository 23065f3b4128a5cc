import { afterAll, beforeAll, onTestFinished } from 'vitest';
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

/** A service for the rest of a test. */
export async function serviceInTest(more?: Readonly<Record<string, string>>): Promise<ManagementService> {
  const service = await startService(more);
  onTestFinished(() => service.stop());
  return service;
}
