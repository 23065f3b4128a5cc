import { join } from 'node:path';
import { z } from 'zod';
import type { ActingLogin } from '../contexts/acting-login.ts';
import type { Context } from '../contexts/context.ts';
import { configFolder, makeFolder } from '../contexts/config-folder.ts';
import { ENVIRONMENT_NAME } from '../contexts/environment-login.ts';
import { whileLocked } from '../contexts/folder-lock.ts';
import { type KeptDocument, keptDocument } from '../contexts/kept-document.ts';
import { Failure, usage } from '../failure.ts';
import { safeAddress } from '../http/service-address.ts';
import type { Invocation } from '../invocation.ts';
import { say } from '../output/say.ts';
import { confirm } from '../secret-input/confirm.ts';

/** By login and address of its service: where its webhook is. Two logins at one service may be of two vaults. */
const documentSchema = z.object({ webhooks: z.record(z.string(), z.string()) });
type KnownWebhooks = z.infer<typeof documentSchema>;
const FILE = 'webhooks.json';

/**
 * Sees that secrets go to the webhook that they went to before. The service says where that is, and one that was broken into
 * could name a place of its own: then it would see what is stored. SVAULT_WEBHOOK_URL says which one is right; without it, the
 * first one is, until a person says otherwise. Of a login from the environment nothing is kept.
 *
 * @param webhookUrl without the endpoint
 * @throws Failure for another one than before; interrupted where a person says no
 */
export async function mustBeKnown(
  invocation: Invocation,
  login: ActingLogin,
  webhookUrl: string,
): Promise<void> {
  const { name, baseUrl } = login.context;
  const said = addressSaid(invocation);
  if (said !== undefined && said !== webhookUrl)
    throw new Failure(
      'failed',
      `the service says that the webhook is at ${webhookUrl}, and SVAULT_WEBHOOK_URL that it is at ${said}; no secret was sent`,
    );
  if (name === ENVIRONMENT_NAME) return;
  const { own, others } = await knownTo(invocation, login.context);
  if (own === webhookUrl) return;
  const known = own ?? others.find((each) => each === webhookUrl) ?? others[0];
  if (known !== undefined && known !== webhookUrl && said === undefined)
    await askAbout(invocation, known, webhookUrl);
  await rememberWebhook(invocation, login, webhookUrl);
  if (known === undefined && said === undefined)
    say(invocation, `secrets of ${baseUrl} go to ${webhookUrl} from now on, and nowhere else unasked`);
}

/** Takes a webhook for the one of a login: somebody has looked at it. @throws Failure */
export async function rememberWebhook(
  invocation: Invocation,
  { context }: ActingLogin,
  webhookUrl: string,
): Promise<void> {
  if (context.name === ENVIRONMENT_NAME) return;
  const folder = await configFolder(invocation);
  await makeFolder(folder);
  const file = fileIn(folder);
  await whileLocked({ folder, name: 'webhooks', signal: invocation.signal }, async () => {
    const { webhooks = {} } = (await file.read()) ?? {};
    await file.write({ webhooks: { ...webhooks, [keyOf(context)]: webhookUrl } });
  });
}

interface Known {
  /** Of the login itself. */
  readonly own: string | undefined;
  /** Of other logins at its service. */
  readonly others: readonly string[];
}

async function knownTo(invocation: Invocation, context: Context): Promise<Known> {
  const { webhooks = {} } = (await fileIn(await configFolder(invocation)).read()) ?? {};
  const key = keyOf(context);
  const ofService = Object.entries(webhooks).filter(([each]) => each.endsWith(` ${context.baseUrl}`));
  return {
    own: Object.hasOwn(webhooks, key) ? webhooks[key] : undefined,
    others: ofService.map(([, url]) => url),
  };
}

/** A name has no spaces. */
const keyOf = ({ name, baseUrl }: Context): string => `${name} ${baseUrl}`;

const fileIn = (folder: string): KeptDocument<KnownWebhooks> =>
  keptDocument(join(folder, FILE), documentSchema);

/** @throws Failure usage */
function addressSaid({ env }: Invocation): string | undefined {
  const { SVAULT_WEBHOOK_URL: text } = env;
  if (text === undefined || text === '') return undefined;
  const url = safeAddress(text);
  if (url === undefined || url.search !== '' || url.hash !== '')
    throw usage('SVAULT_WEBHOOK_URL is the address of a webhook: https://…, or http:// on this machine');
  return url.href.replace(/\/+$/, '');
}

async function askAbout(invocation: Invocation, known: string, webhookUrl: string): Promise<void> {
  const moved = `the service says that the webhook is at ${webhookUrl} now; secrets went to ${known} before`;
  const { interactive } = invocation.terminal;
  if (!interactive.in || !interactive.err)
    throw new Failure(
      'failed',
      `${moved}. No secret was sent. If you moved it, say so once: SVAULT_WEBHOOK_URL=${webhookUrl}`,
    );
  say(invocation, moved);
  await confirm(invocation, 'Did you move it, and is that where it is?', {});
}
