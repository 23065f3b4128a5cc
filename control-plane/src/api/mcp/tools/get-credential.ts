import * as z from 'zod';
import { formatTime } from '@svault/shared';
import { MAX_WAIT_SECONDS } from '../../../access/decision.ts';
import { MAX_REASON_CHARACTERS } from '../../../core/approval.ts';
import { type AskingRead, checkAsking } from '../../http/waiting.ts';
import {
  type Arguments,
  defineTool,
  grantedService,
  ONE_SERVICE,
  serviceOf,
  type Tool,
  toolResult,
} from '../tool.ts';

const resultSchema = z.strictObject({
  serviceName: z.string(),
  credentialUrl: z.url().describe('Signed address of the credential. It works once.'),
  expiresAt: z.string().describe('ISO 8601; from then on the address does not work.'),
  method: z.literal('GET'),
});

const inputSchema = ONE_SERVICE.extend({
  wait: z
    .int()
    .min(0)
    .max(MAX_WAIT_SECONDS)
    .optional()
    .describe('Seconds to wait where a person has to approve the call first. 0 unless given.'),
  reason: z
    .string()
    .min(1)
    .max(MAX_REASON_CHARACTERS)
    .optional()
    .describe('Why the credential is needed, for the person who approves the call.'),
});

const askingIn = ({ wait = 0, reason }: Arguments): AskingRead =>
  checkAsking(wait, reason, { wait: '`wait`', reason: '`reason`' });

const NOTHING_ASKED = { wait: 0, reason: undefined };

/** Hands out the address under which the webhook gives a credential once; never the credential. */
export const getCredential: Tool = defineTool({
  name: 'get_credential',
  title: 'Get a credential',
  description:
    'Gives a signed address under which the credential of one service can be fetched once, within seconds, by an HTTP GET ' +
    'without further headers. The answer to that GET is JSON with the credential in token.accessToken. Call this right ' +
    'before the credential is needed, once for each use. Never log, store or repeat the address or what it returns. Where a ' +
    'person has to approve it, the error has the address at which they do: show it to them, and call again.',
  input: inputSchema,
  output: resultSchema,
  outcome: 'ticket',
  // Each call makes another address and counts against limits and policies.
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  operation: (args) => {
    const asking = askingIn(args);
    return 'message' in asking
      ? { kind: 'malformed', message: asking.message }
      : { kind: 'credential', serviceName: serviceOf(args) };
  },
  asking: (args) => {
    const asking = askingIn(args);
    return 'message' in asking ? NOTHING_ASKED : asking;
  },
  respond: (granted, args) => {
    const serviceName = grantedService(args);
    const expiresAt = formatTime(granted.expiresAt);
    const result: z.infer<typeof resultSchema> = {
      serviceName,
      credentialUrl: granted.url,
      expiresAt,
      method: 'GET',
    };
    return toolResult(
      `Fetch the credential of ${serviceName} with one HTTP GET, without further headers, from\n${granted.url}\n` +
        `The address works once, until ${expiresAt}. The answer is JSON with the credential in token.accessToken. ` +
        'Do not log, store or repeat the address or what it returns.',
      result,
    );
  },
});
