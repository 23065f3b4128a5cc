import { createFormReader } from '@svault/server-kit/form-body';

/** A form of one of our own pages: a token, or a binding code with the webhook's address. */
export const readFormBody = createFormReader({ maxBytes: 16 * 1024, wrongType: 'UNSUPPORTED_MEDIA_TYPE' });
