import { writeFile } from 'node:fs/promises';
import * as z from 'zod';
import { apiClient, nothingSchema } from '../../api/api-client.ts';
import { failed, orElse, usage } from '../../failure.ts';
import type { Run } from '../../invocation.ts';
import { jsonText } from '../../output/json-text.ts';
import { type Shape, printDone, printOne } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { promptSecret } from '../../secret-input/prompt-secret.ts';
import { systemCode, systemReason } from '../../system-reason.ts';

const overviewSchema = z.looseObject({
  vault: z.looseObject({ locked: z.boolean() }),
  agents: z.looseObject({ active: z.number(), suspended: z.number() }),
  tokens: z.number(),
  folders: z.number(),
  grants: z.looseObject({ live: z.number(), endingSoon: z.number() }),
  policies: z.number(),
  proxies: z.number(),
  activity: z.looseObject({ accesses: z.number(), denied: z.number(), rateLimited: z.number() }),
  webhook: z.looseObject({ bound: z.boolean(), online: z.boolean().optional() }),
  lockouts: z.number(),
});

const OVERVIEW: Shape<z.infer<typeof overviewSchema>> = {
  columns: [
    {
      title: 'vault',
      of: ({ vault }) => (vault.locked ? 'locked: svault vault unlock' : 'unlocked'),
      tone: ({ vault }) => (vault.locked ? 'yellow' : undefined),
    },
    {
      title: 'webhook',
      of: ({ webhook }) =>
        !webhook.bound ? 'none is bound: svault webhook init' : webhook.online === false ? 'away' : 'bound',
      tone: ({ webhook }) => (webhook.bound && webhook.online !== false ? undefined : 'yellow'),
    },
    { title: 'agents', of: ({ agents }) => `${agents.active} active, ${agents.suspended} suspended` },
    { title: 'credentials', of: ({ tokens, folders }) => `${tokens}, in ${folders} folders` },
    { title: 'grants', of: ({ grants }) => `${grants.live}, of which ${grants.endingSoon} end within a day` },
    { title: 'policies', of: ({ policies }) => String(policies) },
    { title: 'proxies', of: ({ proxies }) => String(proxies) },
    {
      title: 'last 24 hours',
      of: ({ activity: { accesses, denied, rateLimited } }) =>
        `${accesses} requests, of which ${denied} were denied and ${rateLimited} too many`,
    },
    { title: 'locked out', of: ({ lockouts }) => (lockouts === 0 ? 'nobody' : `${lockouts}: svault limits`) },
  ],
  name: ({ vault }) => (vault.locked ? 'locked' : 'unlocked'),
};

/** `account overview` */
export const showOverview: Run = async (invocation) => {
  const client = await apiClient(invocation);
  printOne(invocation, await client.read('/api/overview', overviewSchema), OVERVIEW);
};

const exportSchema = z.looseObject({ format: z.literal('svault-account-export'), version: z.number() });

/** `account export`: the format makes no difference, since it is JSON. */
export const exportAccount: Run<[], { readonly to?: string }> = async (invocation, _, { to }) => {
  const client = await apiClient(invocation);
  const text = jsonText(await client.readLarge('/api/account/export', exportSchema));
  if (to === undefined) return invocation.terminal.out(text);
  try {
    await writeFile(to, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw usage(`${to} is there already; give the name of a new file`);
    throw failed(`${to} cannot be written: ${systemReason(error)}`, error);
  }
  say(invocation, `the account is in ${to}; it holds no secret, but names and addresses`);
};

/** `account password` */
export const setPassword: Run = async (invocation) => {
  const client = await apiClient(invocation);
  const { interactive } = invocation.terminal;
  if (!interactive.in && !client.dryRun)
    throw usage('a password is asked for on a terminal, and there is none');
  const asked = (question: string): Promise<string> =>
    client.dryRun ? Promise.resolve('') : promptSecret(invocation, question);
  const currentPassword = await asked('Present password (empty: none, or signed in by a link just now)');
  const newPassword = await asked('New password');
  if (!client.dryRun && (await asked('New password, once more')) !== newPassword)
    throw usage('the new passwords differ: nothing is changed');
  const body = { ...(currentPassword !== '' && { currentPassword }), newPassword };
  const secretMembers = ['currentPassword', 'newPassword'];
  const path = '/api/me/password';
  await orElse(
    client.change({ method: 'POST', path, body, secretMembers, schema: nothingSchema }),
    (error) => {
      if (error.code !== 'NOT_FOUND') throw error;
      throw error.saying(
        'people of this control plane sign in at its identity provider: set your password there',
      );
    },
  );
  printDone(invocation, {
    said: 'your password is set, and your other sessions are ended',
    answer: { changed: true },
    name: 'password',
  });
};
