import { createHandshake, unknownCode } from '../../binding/handshake.ts';
import type { Check } from '../../check/check.ts';
import { expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { expectRetryAfter } from '../refresh/refreshable.ts';

/** EXC-14. */
const WRONG_CODES_A_MINUTE = 30;
/** What takes longer may span two of a webhook's minutes, or meet a limit that fills up again as time goes. */
const AT_ONCE_MS = 1000;

/** After everything else that talks with `/v1/exchange`, which is not to meet the limit. */
export const WRONG_CODE_CHECKS: readonly Check[] = [
  {
    id: 'binding.wrong-codes-limited',
    title: 'of more than 30 wrong codes within a minute some are answered 429 with Retry-After',
    requirements: ['EXC-13', 'EXC-14', 'EXC-19', 'TRN-24'],
    run: async ({ send, target }) => {
      const hand = createHandshake(target, { code: unknownCode() });
      const start = Date.now();
      const most = (): number =>
        Date.now() - start < AT_ONCE_MS ? WRONG_CODES_A_MINUTE + 1 : 2 * (WRONG_CODES_A_MINUTE + 1);
      let answer: Answer;
      let sent = 0;
      do {
        const { headers = [], ...wrong } = hand.exchange({ code: unknownCode() });
        // The limit is the endpoint's, whatever address a caller claims.
        answer = await send({ ...wrong, headers: [...headers, ['x-forwarded-for', `198.51.100.${sent}`]] });
        sent++;
        if (answer.status !== 429) expectRefusal(answer, 'SIGNATURE_INVALID');
      } while (answer.status !== 429 && sent < most());
      expectThat(answer.status === 429, answer, `429 to one of ${sent} wrong codes within a minute`);
      expectRefusal(answer, 'RATE_LIMITED');
      expectRetryAfter(answer);
    },
  },
];
