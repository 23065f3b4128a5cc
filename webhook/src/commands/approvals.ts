import type { Subcommand } from '@svault/server-kit/program';
import { type ApprovalFacts, formatTime, visibleLine } from '@svault/shared';
import type { StoredApproval } from '../approvals/approval-store.ts';
import { approverNameSchema } from '../approvals/enrol.ts';
import { passkeyProblem } from '../approvals/passkeys.ts';
import { revokeApprovals } from '../approvals/revoke.ts';
import { withVault } from './with-vault.ts';

const approverLink: Subcommand = {
  usage: '[NAME]',
  summary: 'Print a one-time link by which a person registers a passkey as an approver',
  operands: 0,
  optionalOperands: 1,
  run: ([name], surroundings) =>
    withVault(surroundings, async ({ approvers, config, say }) => {
      const problem = passkeyProblem(config.webhookUrl);
      if (problem !== undefined) throw new Error(`SV_WEBHOOK_URL is ${config.webhookUrl}: ${problem}`);
      if (name !== undefined && !approverNameSchema.safeParse(name).success)
        throw new Error('a name has 1 to 100 characters, none of them invisible');
      const { link, expiresAtMs } = await approvers.makeLink(name);
      say(`${link}\n\nExpires  ${formatTime(expiresAtMs)}, works once`);
    }),
};

const approversCommand: Subcommand = {
  summary: 'List the approvers',
  operands: 0,
  run: (_operands, surroundings) =>
    withVault(surroundings, async ({ approvers, say }) => {
      const all = approvers.list();
      if (all.length === 0) say('There are no approvers. approver-link makes a link for one.');
      for (const { id, name, addedAtMs } of all) say(`${id}  since ${formatTime(addedAtMs)}  ${name}`);
    }),
};

const approverRemove: Subcommand = {
  usage: 'ID',
  summary: 'Remove an approver, and void what they approved and was not used',
  operands: 1,
  run: ([id = ''], surroundings) =>
    withVault(surroundings, async ({ approvers, say }) => {
      if (!(await approvers.remove(id))) throw new Error(`there is no approver ${id}; approvers lists them`);
      say(`Removed ${id}.`);
    }),
};

const approvals: Subcommand = {
  summary: 'List the requests that wait for a decision, and the approvals that hold',
  operands: 0,
  run: (_operands, surroundings) =>
    withVault(surroundings, async ({ approvals: store, latestMs, say }) => {
      const open = store.open(latestMs());
      if (open.length === 0) say('Nothing waits, and no approval holds.');
      for (const approval of open) say(lineOf(approval));
    }),
};

const approvalsRevoke: Subcommand = {
  usage: 'ID|--all',
  summary: 'Revoke an approval, or end every one and all that waits',
  operands: 1,
  run: ([which = ''], surroundings) =>
    withVault(surroundings, async ({ say, ...context }) => {
      const ended = await revokeApprovals(context, which === '--all' ? undefined : which);
      if (ended === 0 && which !== '--all')
        throw new Error(`there is no open approval ${which}; approvals lists them`);
      say(`Ended ${ended} ${ended === 1 ? 'approval' : 'approvals'}.`);
    }),
};

function lineOf({
  id,
  status,
  standingSeconds,
  expiresAtMs,
  serviceName,
  sub,
  text,
}: StoredApproval): string {
  const facts = text === null ? undefined : (JSON.parse(text) as ApprovalFacts);
  const { operation } = facts ?? { operation: { type: 'credential' } as const };
  const what =
    operation.type === 'credential'
      ? 'the secret'
      : `${operation.method} ${operation.url} ${operation.tool ?? ''}`;
  const state = standingSeconds === null ? status : 'allowed';
  return `${id}  ${state} until ${formatTime(expiresAtMs)}  ${visibleLine(`${serviceName}  ${sub}  ${what}`).trimEnd()}`;
}

export const APPROVAL_COMMANDS: Readonly<Record<string, Subcommand>> = {
  'approver-link': approverLink,
  approvers: approversCommand,
  'approver-remove': approverRemove,
  approvals,
  'approvals revoke': approvalsRevoke,
};
