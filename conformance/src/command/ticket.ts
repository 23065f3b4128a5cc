import type { TicketOp } from '@svault/shared';
import { forgeTicket } from '../forge/ticket.ts';
import type { Target } from '../target.ts';
import { EXIT, UsageRefused, type Io } from './io.ts';
import { webhookOf, type WebhookFlags } from './webhook-flags.ts';

export interface TicketFlags extends WebhookFlags {
  readonly op: TicketOp;
  readonly svc: string;
  /** `NAME=VALUE` each. */
  readonly claim: readonly string[];
}

/** What a proxy ticket needs and nobody can guess (TIX-23, TIX-24). */
const OF_PROXIES = ['htm', 'prx'];

/**
 * Prints a ticket as the service issues it, on stdout, and its claims on stderr: for tests that the suite cannot make.
 * @returns the exit code
 * @throws UsageRefused, TargetRefused
 */
export async function ticketCommand(flags: TicketFlags, io: Io): Promise<number> {
  const claims = Object.fromEntries(flags.claim.map(claimOf));
  const missing = flags.op === 'proxy' ? OF_PROXIES.filter((name) => !(name in claims)) : [];
  if (missing.length > 0)
    throw new UsageRefused(
      `a proxy ticket needs ${missing.map((name) => `--claim ${name}=…`).join(' and ')} (TIX-23, TIX-24)`,
    );
  const ticket = forgeTicket(await targetOf(flags, io), flags.op, flags.svc, { claims });
  io.err(Buffer.from(ticket.split('.')[1] ?? '', 'base64url').toString('utf8'));
  io.out(ticket);
  return EXIT.ok;
}

/** JSON, or text where it is none; nothing leaves the claim out. */
function claimOf(argument: string): readonly [name: string, value: unknown] {
  const [, name, text = ''] = /^([a-z]+)=(.*)$/s.exec(argument) ?? [];
  if (name === undefined) throw new UsageRefused(`--claim ${argument}: it is NAME=VALUE, such as jti=…`);
  if (text === '') return [name, undefined];
  try {
    return [name, JSON.parse(text)];
  } catch {
    return [name, text];
  }
}

async function targetOf(flags: TicketFlags, io: Io): Promise<Target> {
  const webhook = await webhookOf(flags, io);
  if (!('binding' in webhook))
    throw new UsageRefused('a ticket needs the bound key: give --binding, or --secret-file with its flags');
  return { ...webhook.address, ...webhook.binding };
}
