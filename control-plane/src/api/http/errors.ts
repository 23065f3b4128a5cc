import { CONTROL_PLANE_ERRORS, statusByCode } from '@svault/shared/error-catalog';
import type { ErrorCode } from '../../core/errors.ts';

/** The HTTP status of each code. */
export const ERROR_STATUS: Readonly<Record<ErrorCode, number>> = statusByCode(CONTROL_PLANE_ERRORS);
