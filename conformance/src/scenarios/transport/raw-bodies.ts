import type { Answer } from '../../http/client.ts';
import type { Tools } from '../../check/tools.ts';

/** Members of an operation that any webhook takes, without the braces. */
export const LIST = '"op":"tokens.list","limit":1';
/** An operation of `/v1/storage` as these bytes. */
export const storage = (tools: Tools, body: string | Uint8Array, contentType?: string): Promise<Answer> =>
  tools.signed(
    { method: 'POST', path: '/v1/storage', body },
    contentType === undefined ? {} : { contentType },
  );

/** `/v1/store` with this body and a ticket for the name. */
export function storeBytes(
  tools: Tools,
  name: string,
  body: string | Uint8Array,
  contentType: string,
  claims: Readonly<Record<string, unknown>> = {},
): Promise<Answer> {
  return tools.send({
    method: 'POST',
    path: '/v1/store',
    headers: [
      ['authorization', `Bearer ${tools.ticket('store', name, { claims })}`],
      ['content-type', contentType],
    ],
    body,
  });
}
