import { z } from 'zod';

/** PROTOCOL.md section 2: every refusal. `code` is one of `WEBHOOK_ERROR_STATUS` where a webhook wrote it. */
export const errorBodySchema = z.looseObject({ error: z.string(), code: z.string() });
export type ErrorBody = z.infer<typeof errorBodySchema>;
