import { apiClient } from '../api/api-client.ts';
import { Failure, usage } from '../failure.ts';
import type { Invocation, Run } from '../invocation.ts';
import { plainLine } from '../output/plain-line.ts';
import { printDone } from '../output/print.ts';
import { say } from '../output/say.ts';
import { confirm } from '../secret-input/confirm.ts';
import { rememberWebhook } from '../webhook-direct/known-webhook.ts';
import { linkText } from './link-text.ts';
import { type Registration, fingerprintOf, readRegistration } from './registration.ts';
import { type WebhookView, webhookSchema } from './webhook-view.ts';

interface Options {
  readonly yes?: true;
}

/** `webhook bind`: what the service's bind page does, without a browser. */
export const run: Run<[link: string | undefined], Options> = async (invocation, [link], options) => {
  const { flags } = invocation;
  const client = await apiClient(invocation);
  const { baseUrl } = client.login.context;
  if (flags.dryRun !== true) mustBeFree(await client.read('/api/webhook', webhookSchema));
  const registration = readRegistration(await linkText(invocation, link));
  mustBeFor(registration, baseUrl);
  show(invocation, registration, baseUrl);
  await confirm(invocation, 'Does the webhook show the same fingerprint, and shall it be bound?', options);

  const { code, webhookUrl, hmacHash } = registration;
  const webhook = await client.change({
    method: 'POST',
    path: '/api/webhook/bind',
    body: { code, webhookUrl, hmacHash },
    secretMembers: ['code'],
    schema: webhookSchema,
  });
  await rememberWebhook(invocation, client.login, webhookUrl);
  const said = `bound: the credentials of your vault are held by ${webhookUrl}`;
  printDone(invocation, { said, answer: webhook, name: webhook.url ?? webhookUrl });
  if (webhook.reachable !== true)
    say(invocation, 'it has not answered under its new key yet: svault webhook status shows whether it does');
};

/** Before a link is made or used up for nothing. */
function mustBeFree({ bound, url = 'an address that is not known' }: WebhookView): void {
  if (!bound) return;
  throw new Failure(
    'failed',
    `a webhook is bound already: ${plainLine(url)}; to bind another one, unbind it first by DELETE /api/webhook (and run unseal-bind on its machine to use it again)`,
  );
}

function mustBeFor({ serviceUrl }: Registration, baseUrl: string): void {
  if (serviceUrl === baseUrl) return;
  throw usage(
    `that link is for the service at ${plainLine(serviceUrl)}, and you are signed in at ${baseUrl}: set SV_WEBHOOK_SERVICE_URL of the webhook, or choose a login with --context`,
  );
}

function show(invocation: Invocation, { webhookUrl, hmacHash }: Registration, baseUrl: string): void {
  say(invocation, `Service      ${baseUrl}`);
  say(invocation, `Webhook      ${webhookUrl}`);
  say(invocation, `Fingerprint  ${fingerprintOf(hmacHash)}`);
  say(invocation, 'It will hold the credentials of your vault. Bind it only if it is your own.');
}
