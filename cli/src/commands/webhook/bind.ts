import { fromBase64url, parseWebhookUrl } from '@svault/shared';
import { bindCodeSchema, hmacHashSchema } from '@svault/shared/schemas';
import { resolve } from 'node:path';
import { apiClient } from '../../api/api-client.ts';
import { readyEngine } from '../../compose-engine/compose-engine.ts';
import { failed, usage } from '../../failure.ts';
import { DryRunDone } from '../../http/dry-run.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { plainLine } from '../../output/plain-line.ts';
import { printDone } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { confirm } from '../../secret-input/ask.ts';
import { readStreamBounded } from '../../secret-input/read-bounded.ts';
import { rememberWebhook } from '../../webhook-direct/known-webhook.ts';
import { type WebhookView, webhookSchema } from '../../webhook-direct/webhook-view.ts';
import { projectIn } from '../../webhook-project/project-folder.ts';

/** `webhook bind`: what the control plane's bind page does, without a browser. */
export const bindWebhook: Run<[link: string | undefined], { readonly yes?: true }> = async (
  invocation,
  [link],
  options,
) => {
  const { flags } = invocation;
  const client = await apiClient(invocation);
  const { baseUrl } = client.login.context;
  if (flags.dryRun !== true) mustBeFree(await client.read('/api/webhook', webhookSchema));
  const registration = readRegistration(await linkText(invocation, link));
  mustBeFor(registration, baseUrl);
  show(invocation, registration, baseUrl);
  if (options.yes !== true) say(invocation, 'Bind it only if it is your own.');
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

/** Before a link is made or consumed in vain. */
function mustBeFree({ bound, url = 'an address that is not known' }: WebhookView): void {
  if (!bound) return;
  throw failed(
    `a webhook is bound already: ${plainLine(url)}; to bind another one, unbind it first with svault webhook unbind (and erase its keys, svault’s own webhook: unseal-bind, to use it again)`,
  );
}

function mustBeFor({ serviceUrl }: Registration, baseUrl: string): void {
  if (serviceUrl === baseUrl) return;
  throw usage(
    `that link is for the control plane at ${plainLine(serviceUrl)}, and you are signed in at ${baseUrl}: set SV_WEBHOOK_SERVICE_URL of the webhook, or choose a login with --context`,
  );
}

function show(invocation: Invocation, { webhookUrl, hmacHash }: Registration, baseUrl: string): void {
  say(invocation, `Service      ${baseUrl}`);
  say(invocation, `Webhook      ${webhookUrl}`);
  say(invocation, `Fingerprint  ${fingerprintOf(hmacHash)}`);
  say(invocation, 'It will hold the credentials of your vault.');
}

const MAX_BYTES = 64 * 1_024;

/**
 * What `bind-link` printed: on the command line; else on stdin, where that is no terminal; else it is run in the project of
 * this folder.
 * @throws Failure
 */
async function linkText(invocation: Invocation, argument: string | undefined): Promise<string> {
  if (argument !== undefined && argument !== '-') return argument;
  const { stdin, interactive } = invocation.terminal;
  if (!interactive.in) {
    const bytes = await readStreamBounded(stdin, MAX_BYTES, invocation.signal);
    const text = Buffer.from(bytes).toString('utf8');
    if (text.trim() !== '' || argument === '-') return text;
  }
  const folder = resolve('.');
  if ((await projectIn(folder)) === undefined)
    throw usage(
      'give the link that the webhook’s bind-link printed, as the argument or on stdin; or run this in the folder of its project',
    );
  if (invocation.flags.dryRun === true) {
    say(invocation, `would run, in ${folder}: docker compose run --rm webhook bind-link`);
    throw new DryRunDone();
  }
  const compose = await readyEngine(invocation, folder);
  const { code, out } = await compose.read('run', '--rm', '--no-deps', '-T', 'webhook', 'bind-link');
  if (code !== 0) throw failed('the webhook gave no link; see its output above');
  return out;
}

/** What a registration link carries from a webhook to the control plane (protocol 5.1). */
interface Registration {
  /** Of the control plane that it is for, without a trailing slash. */
  readonly serviceUrl: string;
  readonly code: string;
  readonly webhookUrl: string;
  readonly hmacHash: string;
}

const LINK = /https?:\/\/[^\s<>"']+\/vault\/webhook-bind\?[^\s<>"']+/g;
const FINGERPRINT = /^Fingerprint\s+((?:[0-9a-f]{4} ){3}[0-9a-f]{4})\s*$/m;
const FINGERPRINT_DIGITS = 16;
const MAX_CHARACTERS = 64 * 1_024;

/**
 * Reads what `bind-link` printed: all of it, or its link alone.
 * @throws Failure usage; the text, whose code is a secret, is not in it
 */
export function readRegistration(text: string): Registration {
  if (text.length > MAX_CHARACTERS) throw usage('that is more than bind-link prints');
  const links = new Set(text.match(LINK));
  if (links.size > 1) throw usage('there is more than one registration link: which is it?');
  const [link] = links;
  if (link === undefined)
    throw usage(
      'there is no registration link; bind-link of the webhook prints one: https://…/vault/webhook-bind?…',
    );
  const url = URL.parse(link);
  const query = url?.searchParams;
  const code = bindCodeSchema.safeParse(query?.get('code'));
  const hmacHash = hmacHashSchema.safeParse(query?.get('hmac_hash'));
  const address = parseWebhookUrl(decodeAddress(query?.get('webhook_url') ?? ''));
  if (url === null || !code.success || !hmacHash.success || !address.ok)
    throw usage('the registration link is not whole; take all of it, or let bind-link make another one');
  const shown = FINGERPRINT.exec(text)?.[1];
  if (shown !== undefined && shown !== fingerprintOf(hmacHash.data))
    throw usage('the fingerprint belongs to another link: nothing is bound; print a new one with bind-link');
  return {
    serviceUrl: `${url.origin}${url.pathname}`.replace(/\/vault\/webhook-bind$/, ''),
    code: code.data,
    webhookUrl: address.url,
    hmacHash: hmacHash.data,
  };
}

/** First 16 digits in fours, as the webhook and the control plane show it. */
const fingerprintOf = (hmacHash: string): string =>
  (hmacHash.slice(0, FINGERPRINT_DIGITS).match(/.{4}/g) ?? []).join(' ');

/** Protocol 5.1: base64url, or plain base64 in which a `+` may have become a space. */
function decodeAddress(encoded: string): string {
  const plain = encoded.replaceAll(' ', '+').replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_');
  const bytes = fromBase64url(plain);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return '';
  }
}
