import { afterAll, beforeAll, onTestFinished } from 'vitest';
import {
  type ManagementService,
  type Place,
  makePlace,
  serveOn,
  startService,
} from './management-service.ts';

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
export const serviceInTest = async (more?: Readonly<Record<string, string>>): Promise<ManagementService> =>
  serveInTest(await makePlace(more));

/** A service on a place, for the rest of a test. */
export async function serveInTest(place: Place): Promise<ManagementService> {
  const service = await serveOn(place);
  onTestFinished(() => service.stop());
  return service;
}
