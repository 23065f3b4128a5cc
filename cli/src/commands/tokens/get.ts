import { apiClient } from '../../api/api-client.ts';
import { serviceNameFrom } from '../../api/service-name.ts';
import { Failure, failed, usage } from '../../failure.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { jsonText } from '../../output/json-text.ts';
import { plainLine } from '../../output/plain-line.ts';
import { say } from '../../output/say.ts';
import { fetchCredential } from '../../webhook-direct/fetch-credential.ts';
import type { Waiting } from '../../webhook-direct/fetch-delivery.ts';
import type { DeliveredToken } from '../../webhook-direct/open-delivery.ts';

interface Options {
  readonly check?: true;
  readonly field?: string;
  readonly credentialProcess?: true;
  readonly wait?: string;
  readonly reason?: string;
}

/** `tokens get SERVICE`. What the flags need is loaded with them: without, it is to start at once. */
export const getToken: Run<[string], Options> = async (invocation, [service], options) => {
  const { check, field, credentialProcess } = options;
  if ([check, field, credentialProcess].filter((each) => each !== undefined).length > 1)
    throw usage('--check, --field and --credential-process each print something else: give one of them');
  const waiting = waitingFrom(options);
  const name = serviceNameFrom(service);
  const client = await apiClient(invocation, 'anybody');
  if (check === true) return (await import('./check.ts')).checkToken(invocation, client, name, waiting);
  const token = await fetchCredential(invocation, client, name, waiting);
  if (credentialProcess === true) return printForAws(invocation, token);
  print(invocation, token, field);
};

const MAX_WAIT_SECONDS = 3_600;
/** The specification of approvals: of a reason. */
const MAX_REASON_CHARACTERS = 500;

function waitingFrom({ wait, reason }: Options): Waiting {
  const waitSeconds = wait === undefined ? undefined : Number(/^\d{1,4}$/.test(wait) ? wait : Number.NaN);
  if (waitSeconds !== undefined && !(waitSeconds >= 1 && waitSeconds <= MAX_WAIT_SECONDS))
    throw usage(`--wait takes seconds, from 1 to ${MAX_WAIT_SECONDS}`);
  if (reason !== undefined && (reason.trim() === '' || reason.length > MAX_REASON_CHARACTERS))
    throw usage(`--reason takes 1 to ${MAX_REASON_CHARACTERS} characters`);
  return { ...(waitSeconds !== undefined && { waitSeconds }), ...(reason !== undefined && { reason }) };
}

function print(invocation: Invocation, token: DeliveredToken, field: string | undefined): void {
  const { flags, terminal } = invocation;
  if (flags.format === 'name') return terminal.out(`${token.serviceName}\n`);
  if (flags.format === 'json')
    return terminal.out(jsonText(field === undefined ? token : valueOf(token, field)));
  const value = valueOf(token, field ?? 'accessToken');
  printValue(invocation, typeof value === 'string' ? value : JSON.stringify(value));
}

function valueOf(token: DeliveredToken, field: string): unknown {
  const fields = Object.entries(token);
  const found = fields.find(([name]) => name === field);
  if (found !== undefined) return found[1];
  const names = fields.map(([name]) => plainLine(name)).join(', ');
  throw new Failure('notFound', `${token.serviceName} comes without ${plainLine(field)}; it has ${names}`);
}

async function printForAws(
  { terminal }: Invocation,
  { accessToken, serviceName }: DeliveredToken,
): Promise<void> {
  const { credentialProcessLine } = await import('./credential-process.ts');
  const line = credentialProcessLine(accessToken);
  if (line === undefined)
    throw failed(
      `${serviceName} holds no AWS credentials: JSON with Version 1, AccessKeyId and SecretAccessKey, as a RawCredential with the minter aws-sts gives it`,
    );
  terminal.out(line);
}

/** Characters that a terminal acts on or hides; line ends and tabs are harmless. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}]|[^\P{Cf}\u200c\u200d]/gu;

/**
 * Prints a secret to stdout: byte for byte, and nothing added, unless that is a terminal. There it ends with a line break, and
 * characters that would move the cursor or hide are shown as escapes, which is said on stderr.
 */
export function printValue(invocation: Invocation, value: string): void {
  const { terminal } = invocation;
  if (!terminal.interactive.out) return terminal.out(value);
  const text = value.replaceAll('\r\n', '\n');
  const shown = text.replaceAll(UNSEEN, escaped);
  terminal.out(shown.endsWith('\n') ? shown : `${shown}\n`);
  if (shown !== text)
    say(
      invocation,
      'it has characters that a terminal does not show: they are printed as \\u{…}; a pipe or a file gets them unchanged',
    );
}

const escaped = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
