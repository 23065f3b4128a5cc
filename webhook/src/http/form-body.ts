import { createFormReader } from '@svault/server-kit/form-body';
import { MAX_BODY_BYTES } from './body-caps.ts';

/** A form of the bind page. */
export const readForm = createFormReader({ maxBytes: MAX_BODY_BYTES['/bind'], wrongType: 'INVALID_REQUEST' });
