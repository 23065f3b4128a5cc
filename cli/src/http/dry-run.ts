import type { Invocation } from '../invocation.ts';
import { type OutgoingRequest, shownBody, shownUrl } from './send.ts';

/** Nothing is left to show under `--dry-run`; ends a command with exit code 0. */
export class DryRunDone extends Error {
  override readonly name = 'DryRunDone';
}

/**
 * Stands for a webhook's address, which the control plane alone knows, and which it is not asked for (RFC 6761 section 6.4).
 */
export const SOME_WEBHOOK = 'https://webhook.invalid';

/** Ends the command with what it would send, under `--dry-run`. @throws DryRunDone */
export function endWhereDry(
  invocation: Pick<Invocation, 'terminal' | 'flags'>,
  request: OutgoingRequest,
): void {
  if (invocation.flags.dryRun !== true) return;
  showInstead(invocation, request);
  throw new DryRunDone();
}

/** Prints a request instead of sending it: one line of JSON for each with `--format json`, else to be read by people. */
export function showInstead(
  { terminal, flags }: Pick<Invocation, 'terminal' | 'flags'>,
  request: OutgoingRequest,
): void {
  const { method, url } = request;
  const body = shownBody(request);
  const shown = { method, url: shownUrl(url), ...(body !== undefined && { body }) };
  if (flags.format === 'json') return terminal.out(`${JSON.stringify(shown)}\n`);
  terminal.out(`${method} ${shown.url}\n${body === undefined ? '' : `${JSON.stringify(body, null, 2)}\n`}`);
}
