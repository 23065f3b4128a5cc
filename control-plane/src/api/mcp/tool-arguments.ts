import { z } from 'zod';
import { isServiceName } from '@svault/shared';
import type { Arguments } from './tool.ts';

/** For clients; what comes is judged by {@link serviceOf}, as the REST endpoint judges it. */
export const serviceSchema = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[^/]+$/)
  .describe('Service name of the credential, as list_credentials gives it. It contains no "/".');

/** @returns undefined where there is no legal name: INVALID_ARGUMENT, in its turn */
export function serviceOf({ service }: Arguments): string | undefined {
  return typeof service === 'string' && isServiceName(service) ? service : undefined;
}
