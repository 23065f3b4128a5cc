import { createFormReader } from '@svault/server-kit/form-body';

/** A form of the bind page; a token and its field's name need a fraction of the size. */
export const readForm = createFormReader({ maxBytes: 4096, wrongType: 'INVALID_REQUEST' });
