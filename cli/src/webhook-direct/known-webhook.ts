import { join } from 'node:path';
import * as z from 'zod';
import type { ApiClient } from '../api/api-client.ts';
import type { ActingLogin } from '../contexts/acting-login.ts';
import { ENVIRONMENT_NAME } from '../contexts/context-name.ts';
import { configFolder, makeFolder, whileLocked } from '../contexts/config-folder.ts';
import { keptDocument } from '../contexts/private-file.ts';
import { failed, orElse, usage } from '../failure.ts';
import { safeAddress } from '../http/service-address.ts';
import type { Invocation } from '../invocation.ts';
import { say } from '../output/say.ts';
import { type WebhookView, webhookOf, webhookSchema } from './webhook-view.ts';

/** By login and address of its control plane: where its webhook is. Two logins at one service may be of two vaults. */
const documentSchema = z.object({ webhooks: z.record(z.string(), z.string()) });

const NOT_SENT = 'No secret was sent';
const NOT_FETCHED = 'Nothing was fetched';
const NOT_SIGNED = 'Nothing was signed';

/**
 * Checks that a secret goes to the webhook that it went to before. The control plane says where that is, and a compromised
 * control plane could name a server that its attacker runs. SVAULT_WEBHOOK_URL says which address is right, and is remembered.
 * Without it the address that this machine remembers for the login counts, then one that it remembers for another login at the
 * same control plane. Where it remembers none, a kept login trusts the first address; for SVAULT_KEY a person is asked, and a
 * script is denied.
 *
 * @param webhookUrl of {@link webhookOf}
 * @throws Failure for another address, or for an unknown one where no person can be asked; interrupted where a person declines
 */
export async function mustBeKnown(
  invocation: Invocation,
  login: ActingLogin,
  webhookUrl: string,
): Promise<void> {
  const said = addressSaid(invocation);
  if (said !== undefined) {
    mustBeSaid(said, webhookUrl, NOT_SENT);
    return rememberWebhook(invocation, login, webhookUrl);
  }
  const { own, others } = await knownTo(invocation, login);
  if (own === webhookUrl) return;
  const known = own ?? others.find((each) => each === webhookUrl) ?? others[0];
  const isFirst = known === undefined && !isOfEnvironment(login);
  if (!isFirst && known !== webhookUrl) await askAbout(invocation, known, webhookUrl, NOT_SENT);
  await rememberWebhook(invocation, login, webhookUrl);
  if (isFirst)
    say(
      invocation,
      `secrets of ${login.context.baseUrl} go to ${webhookUrl} from now on, and nowhere else unasked`,
    );
}

/**
 * The same before anything is named at the control plane, for a login of the environment whose webhook is not known
 * yet: a script that is denied then changes nothing, and the same command works once it says the address.
 * @throws Failure as {@link mustBeKnown} does
 */
export async function mustBeKnownFirst(invocation: Invocation, client: ApiClient): Promise<void> {
  const { login, dryRun } = client;
  if (dryRun || !isOfEnvironment(login) || addressSaid(invocation) !== undefined) return;
  const { own, others } = await knownTo(invocation, login);
  if (own !== undefined || others.length > 0) return;
  const url = await boundWebhook(client);
  if (url !== undefined) await mustBeKnown(invocation, login, url);
}

/**
 * Checks that a credential comes from the webhook that is known: a compromised control plane could have another one's
 * used in its place. Only SVAULT_WEBHOOK_URL and what was remembered for the login itself count, and nothing is
 * remembered here, so that agents, which store nothing, need neither.
 * @param webhookUrl undefined for an address that is no webhook's
 * @throws Failure; interrupted where a person says no
 */
export async function mustNotBeAnother(
  invocation: Invocation,
  login: ActingLogin,
  { webhookUrl, shown }: { readonly webhookUrl: string | undefined; readonly shown: string },
): Promise<void> {
  const said = addressSaid(invocation);
  if (said !== undefined) return mustBeSaid(said, webhookUrl ?? shown, NOT_FETCHED);
  if (login.context.kind === 'agent') return;
  const { own } = await knownTo(invocation, login);
  if (own === undefined || own === webhookUrl) return;
  if (webhookUrl === undefined)
    throw failed(`the control plane points to ${shown}, which is not a webhook. ${NOT_FETCHED}.`);
  await askAbout(invocation, own, webhookUrl, NOT_FETCHED);
  await rememberWebhook(invocation, login, webhookUrl);
}

/**
 * Checks, for a link that a person was sent, that it leads to a webhook that SVAULT_WEBHOOK_URL says or that a login of this
 * machine has stored at; otherwise a person is asked.
 * @throws Failure; interrupted where a person says no
 */
export async function mustBeOwnWebhook(invocation: Invocation, webhookUrl: string): Promise<void> {
  const said = addressSaid(invocation);
  if (said === webhookUrl) return;
  if (said !== undefined)
    throw failed(
      `the link leads to ${webhookUrl}, and SVAULT_WEBHOOK_URL says that the webhook is at ${said}. ${NOT_SIGNED}.`,
    );
  const { webhooks = {} } = (await fileIn(await configFolder(invocation)).read()) ?? {};
  if (Object.values(webhooks).includes(webhookUrl)) return;
  await askWhether(invocation, {
    found: `the link leads to ${webhookUrl}, which this machine has not stored anything at`,
    undone: NOT_SIGNED,
    webhookUrl,
    question: 'Is that your webhook?',
  });
}

/**
 * Records a webhook as that of a login, after a person has checked it. A machine that acts by SVAULT_KEY may have no
 * folder to write to; then the question comes again.
 * @throws Failure
 */
export async function rememberWebhook(
  invocation: Invocation,
  login: ActingLogin,
  webhookUrl: string,
): Promise<void> {
  await orElse(keep(invocation, await keyOf(login), webhookUrl), (error) => {
    if (!isOfEnvironment(login)) throw error;
  });
}

async function keep(invocation: Invocation, key: string, webhookUrl: string): Promise<void> {
  const folder = await configFolder(invocation);
  await makeFolder(folder);
  const file = fileIn(folder);
  await whileLocked({ folder, name: 'webhooks', signal: invocation.signal }, async () => {
    const { webhooks = {} } = (await file.read()) ?? {};
    if (webhooks[key] !== webhookUrl) await file.write({ webhooks: { ...webhooks, [key]: webhookUrl } });
  });
}

async function knownTo(invocation: Invocation, login: ActingLogin) {
  const { webhooks = {} } = (await fileIn(await configFolder(invocation)).read()) ?? {};
  const key = await keyOf(login);
  const ofService = Object.entries(webhooks).filter(([each]) => each.endsWith(` ${login.context.baseUrl}`));
  return {
    own: Object.hasOwn(webhooks, key) ? webhooks[key] : undefined,
    others: ofService.map(([, url]) => url),
  };
}

/** A name has no spaces. */
const keyOf = async ({ context: { baseUrl }, rememberedAs }: ActingLogin): Promise<string> =>
  `${await rememberedAs()} ${baseUrl}`;

const isOfEnvironment = ({ context }: ActingLogin): boolean => context.name === ENVIRONMENT_NAME;

const fileIn = (folder: string) => keptDocument(join(folder, 'webhooks.json'), documentSchema);

function addressSaid({ env }: Invocation): string | undefined {
  const { SVAULT_WEBHOOK_URL: text } = env;
  if (text === undefined || text === '') return undefined;
  const url = safeAddress(text);
  if (url === undefined || url.search !== '' || url.hash !== '')
    throw usage('SVAULT_WEBHOOK_URL is the address of a webhook: https://…, or http:// on this machine');
  return url.href.replace(/\/+$/, '');
}

function mustBeSaid(said: string, webhookUrl: string, undone: string): void {
  if (said === webhookUrl) return;
  throw failed(
    `the control plane says that the webhook is at ${webhookUrl}, and SVAULT_WEBHOOK_URL that it is at ${said}. ${undone}.`,
  );
}

async function boundWebhook(client: ApiClient): Promise<string | undefined> {
  const { url } = await orElse<WebhookView>(client.read('/api/webhook', webhookSchema), (error) => {
    if (error.code !== 'FORBIDDEN') throw error;
    // A member, who may not know.
    return { bound: true };
  });
  const address = url === undefined ? undefined : safeAddress(`${url}/v1/store`);
  return address && webhookOf(address, '/v1/store');
}

async function askAbout(
  invocation: Invocation,
  known: string | undefined,
  webhookUrl: string,
  undone: string,
): Promise<void> {
  const found =
    known === undefined
      ? `the control plane says that the webhook is at ${webhookUrl}, which this machine has not stored anything at`
      : `the control plane says that the webhook is at ${webhookUrl} now; secrets went to ${known} before`;
  const question =
    known === undefined ? 'Is that your webhook?' : 'Did you move it, and is that where it is?';
  await askWhether(invocation, { found, undone, webhookUrl, question });
}

async function askWhether(
  invocation: Invocation,
  {
    found,
    undone,
    webhookUrl,
    question,
  }: {
    readonly found: string;
    readonly undone: string;
    readonly webhookUrl: string;
    readonly question: string;
  },
): Promise<void> {
  const { interactive } = invocation.terminal;
  if (!interactive.in || !interactive.err)
    throw failed(
      `${found}. ${undone}. If that is your webhook, say so once: export SVAULT_WEBHOOK_URL=${webhookUrl}`,
    );
  say(invocation, found);
  const { confirm } = await import('../secret-input/ask.ts');
  await confirm(invocation, question, {});
}
