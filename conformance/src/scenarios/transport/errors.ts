import { isWebhookErrorCode, WEBHOOK_ERROR_STATUS } from '@svault/shared';
import type { WebhookCheck } from '../../check/check.ts';
import { expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { header } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';
import { ownAnswers } from './own-answers.ts';

/** What the server under a webhook may refuse by itself, before it is asked. */
const BEFORE_THE_WEBHOOK = new Set([408, 414, 417, 421, 431, 501, 505]);
const MAX_ORDINARY_CHARACTERS = 4096;
const JSON_TYPE = /^application\/json[ \t]*(;|$)/i;

/**
 * Refusals that are drawn out here, so that there are some whatever else ran: as a browser asks that follows a link, and
 * with a ticket whose percent-encoding is none.
 */
async function provoke({ send, freshName, storage }: Tools): Promise<void> {
  const browser = [['accept', 'text/html,application/xhtml+xml,*/*;q=0.8']] as const;
  await send({ method: 'GET', path: '/v1/credential?ticket=none', headers: browser });
  await send({ method: 'GET', path: '/v1/storage', headers: browser });
  await send({ method: 'GET', path: '/v1/credential?ticket=%E0%A4%A' });
  await send({
    method: 'POST',
    path: '/v1/storage',
    headers: [['content-type', 'application/json']],
    body: '{}',
  });
  await storage({ op: 'tokens.get', serviceName: freshName() });
  await storage({ op: 'tokens.none' });
}

/** Protocol sections 2 and 9; these look at all that was answered before them. */
export const ERROR_CHECKS: readonly WebhookCheck[] = [
  {
    id: 'error.shape',
    title: 'every refusal of the run is one JSON object with error and code',
    requirements: ['TRN-33'],
    run: async (tools) => {
      await provoke(tools);
      for (const [answer, body] of ownAnswers(tools)) {
        if (answer.status < 400 || !reachesTheWebhook(answer)) continue;
        expectThat(
          typeof body?.['error'] === 'string' && isWebhookErrorCode(body['code']),
          answer,
          '{ "error": string, "code": CODE } with a code of section 9',
        );
      }
    },
  },
  {
    id: 'error.statuses',
    title: 'every code of the run is one of the closed list, with its status',
    requirements: ['ERR-01'],
    run: async (tools) => {
      await provoke(tools);
      for (const [answer, body] of ownAnswers(tools)) {
        const code = body?.['code'];
        // A success may have a member of that name; an error's text beside it makes it a refusal.
        if (typeof code !== 'string' || (answer.status < 400 && typeof body?.['error'] !== 'string'))
          continue;
        const status = isWebhookErrorCode(code) ? WEBHOOK_ERROR_STATUS[code] : undefined;
        expectThat(
          status === answer.status,
          answer,
          status === undefined ? `a code of section 9, not ${code}` : `${status} with the code ${code}`,
        );
      }
    },
  },
  {
    id: 'error.content-type',
    title: 'every JSON object of the run came as application/json',
    requirements: ['TRN-39'],
    run: async (tools) => {
      await provoke(tools);
      for (const [answer, body] of ownAnswers(tools))
        expectThat(
          body === undefined || JSON_TYPE.test(header(answer, 'content-type') ?? ''),
          answer,
          'Content-Type: application/json, with or without parameters',
        );
    },
  },
];

/** HEAD has no body, a preflight is the browser's, and what is no ordinary request may not come as far as the webhook. */
function reachesTheWebhook({ sent, status }: Answer): boolean {
  if (sent.method === 'HEAD' || sent.method === 'OPTIONS' || BEFORE_THE_WEBHOOK.has(status)) return false;
  const head = [sent.path, ...sent.headers.flat()];
  return (
    /^[A-Z]{3,10}$/.test(sent.method) &&
    head.every((text) => /^[\t\x20-\x7e]*$/.test(text)) &&
    !/%(?![0-9a-f]{2})/i.test(sent.path) &&
    head.reduce((sum, text) => sum + text.length, 0) <= MAX_ORDINARY_CHARACTERS
  );
}
