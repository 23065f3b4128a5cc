import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { startFaultyWebhook } from '../faulty-webhook.ts';
import { type Backstage, decide, denialOf } from './backstage.ts';
import type { ERROR_ROWS } from './error-rows.ts';
import { type LaterRow, PROXY } from './later-row.ts';

const SVAULT = fileURLToPath(new URL('../../../cli/src/bin.ts', import.meta.url));

/** A policy of one rule on an agent. */
async function policyOn({ admin }: Backstage, targetId: string, rule: object): Promise<string> {
  const body = { name: 'a policy', enabled: true, rules: [rule] };
  const { json } = await admin('POST', '/api/policies', { body });
  const target = { targetType: 'agent', targetId };
  await admin('POST', `/api/policies/${json.id}/attachments`, { body: target });
  return body.name;
}

/** The verdict of the rules is a value with everything that either shape of a denial says. */
const policyDenials: LaterRow['play'] = async (backstage) => {
  const [blocked, slowed] = [await backstage.agent('github'), await backstage.agent('github')];
  const policy = await policyOn(backstage, blocked.id, { type: 'manual_approval' });
  await policyOn(backstage, slowed.id, { type: 'rate_limit', limit: 1, windowSeconds: 9 });
  expect(await denialOf(backstage, blocked.apiKey, 'github')).toEqual({
    code: 'POLICY_DENIED',
    policy,
    rule: 'manual_approval',
    reason: expect.any(String),
  });
  await decide(backstage, slowed.apiKey, 'github');
  expect(await denialOf(backstage, slowed.apiKey, 'github')).toMatchObject({
    code: 'POLICY_DENIED',
    rule: 'rate_limit',
    retryAfterSeconds: 9,
  });
};

/** Known to be away, the webhook is given as the reason, with the time after which it is asked again. */
const webhookOffline: LaterRow['play'] = async (backstage) => {
  const { admin, clock } = backstage;
  const agent = await backstage.agent('github');
  const webhook = await startFaultyWebhook(clock);
  await admin('POST', '/api/webhook/bind', { body: webhook.offer() });
  expect(await decide(backstage, agent.apiKey, 'github')).toMatchObject({ outcome: 'ticket' });
  await webhook.shut();
  await admin('GET', '/api/webhook');
  expect(await denialOf(backstage, agent.apiKey, 'github')).toEqual({
    code: 'WEBHOOK_UNAVAILABLE',
    retryAfterSeconds: expect.any(Number),
  });
  await admin('DELETE', '/api/webhook');
};

/** What the client says of its exit codes. */
export const exitCodes = (): Promise<string> =>
  new Promise((resolve, reject) =>
    execFile(process.execPath, [SVAULT, '--help'], (error, out) =>
      error === null ? resolve(out) : reject(new Error('no help', { cause: error })),
    ),
  );

/** The command is unknown to the client as yet: exit code 2, a wrong command line. */
export const svaultExitCode = (...args: string[]): Promise<number> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, [SVAULT, ...args], () => resolve(child.exitCode ?? -1));
  });

export const LATER_ERRORS = {
  'proxy: policy denial': { endpoint: PROXY, play: policyDenials },
  'proxy: other rules': { endpoint: PROXY, play: policyDenials },
  'proxy: rate_limit on POST': { endpoint: PROXY, play: policyDenials },

  'proxy: limiter denial': {
    endpoint: PROXY,
    play: async (backstage) => {
      const agent = await backstage.agent('github');
      await policyOn(backstage, agent.id, { type: 'rate_limit', limit: 1, windowSeconds: 9 });
      await decide(backstage, agent.apiKey, 'github');
      // Which of the two it was is told: only here may -32029 carry POLICY_DENIED.
      expect((await denialOf(backstage, agent.apiKey, 'github'))?.code).toBe('POLICY_DENIED');
      for (let n = 0; n < 58; n++) await decide(backstage, agent.apiKey);
      for (let n = 0; n < 2; n++)
        expect((await denialOf(backstage, agent.apiKey, 'github'))?.code).toBe('RATE_LIMITED');
    },
  },

  'proxy: webhook offline': { endpoint: PROXY, play: webhookOffline },
  'webhook offline, proxy': { endpoint: PROXY, play: webhookOffline },
} as const satisfies Partial<Record<keyof typeof ERROR_ROWS, LaterRow>>;

/** Rows of the command-line client: their command does not exist yet, and the client names their codes already. */
export const LATER_COMMANDS = {
  'exit code 6': { command: ['tokens', 'get', 'github', '--check'], told: /^ +6 +tokens get --check/m },
  'exit code 7': { command: ['tokens', 'list'], told: /^ +7 +.*429/m },
  'exit code 7, again': { command: ['agents', 'list'], told: /^ +7 +.*429/m },
} as const satisfies Partial<
  Record<keyof typeof ERROR_ROWS, { readonly command: readonly string[]; readonly told: RegExp }>
>;
