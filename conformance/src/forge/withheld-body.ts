import type { RequestToSend } from '../http/client.ts';

/** A request whose head declares a body that never comes; what came next on its connection would be taken for that. */
export const withoutItsBody = ({ headers = [], ...request }: RequestToSend): RequestToSend => ({
  ...request,
  headers: [...headers, ['content-length', '64'], ['connection', 'close']],
  body: '',
});
