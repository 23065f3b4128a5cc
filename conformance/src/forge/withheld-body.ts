import type { RequestToSend } from '../http/client.ts';

/**
 * A request whose head declares a body that never comes; what came next on its connection would be taken for that.
 * @param requirement the id of what asks for an answer without it, for the report
 */
export const withoutItsBody = (
  { headers = [], ...request }: RequestToSend,
  requirement: string,
): RequestToSend => ({
  ...request,
  bodyWithheld: requirement,
  headers: [...headers, ['content-length', '64'], ['connection', 'close']],
  body: '',
});
