import type { Answer, Sent } from '../../http/client.ts';
import { header, jsonObject } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';

const PATHS = new Set(
  ['exchange', 'health', 'storage', 'credential', 'store', 'proxy', 'refresh-notify', 'refresh'].map(
    (name) => `/v1/${name}`,
  ),
);

/** Answers that the webhook itself gave at the endpoints of the protocol, with what their bodies say. */
export function ownAnswers({
  seen,
}: Tools): ReadonlyArray<readonly [Answer, Record<string, unknown> | undefined]> {
  return seen
    .filter(({ sent }) => PATHS.has(pathOf(sent)))
    .filter(
      (answer) => pathOf(answer.sent) !== '/v1/proxy' || header(answer, 'sv-proxy-origin') === 'webhook',
    )
    .map((answer) => [answer, jsonObject(answer)] as const);
}

const pathOf = ({ path }: Sent): string => path.split('?', 1)[0] ?? '';
