import { ApiError, RateLimited, UnexpectedAnswer } from './errors.ts';
import { type Answer, jsonObject } from './http.ts';

const MAX_MESSAGE = 1_000;

/** What a control plane or a webhook denied a request with. @param from who answered */
export function refusalOf({ status, headers, text }: Answer, from: URL): ApiError | UnexpectedAnswer {
  const { error, code, policy, rule, requestId } = jsonObject(text);
  if (
    status < 400 ||
    typeof error !== 'string' ||
    typeof code !== 'string' ||
    !/^[A-Z][A-Z0-9_]{2,63}$/.test(code)
  )
    return notSvault(from, status);
  const seconds = headers.get('retry-after') ?? '';
  const id = typeof requestId === 'string' ? requestId : headers.get('x-request-id');
  const denial = {
    message: plain(error),
    status,
    code,
    host: from.host,
    requestId: id !== null && /^[\w.:-]{1,100}$/.test(id) ? id : undefined,
    retryAfter: /^\d{1,9}$/.test(seconds) ? Number(seconds) : undefined,
    policy: typeof policy === 'string' ? plain(policy) : undefined,
    rule: typeof rule === 'string' ? plain(rule) : undefined,
  };
  return status === 429 ? new RateLimited(denial) : new ApiError(denial);
}

export const notSvault = ({ host }: URL, status: number): UnexpectedAnswer =>
  new UnexpectedAnswer(`the ${status} of ${host} is not an svault response; is the address right?`, status);

/** Without control characters, which a terminal would obey. */
const plain = (text: string): string => text.slice(0, MAX_MESSAGE).replaceAll(/\p{C}/gu, ' ');
