import { parseWireObject } from '@svault/shared';
import { type RequestRule, RuleTextRefused, parseRequestRule } from '@svault/shared/request-rules';
import {
  APPROVAL_LIMITS,
  APPROVED_OPERATIONS,
  type ApprovalSetting,
  allowedHostFor,
} from '@svault/shared/schemas';
import { secondsOf } from '../../api/duration.ts';
import { usage } from '../../failure.ts';
import { given } from '../../json-in.ts';
import type { Invocation } from '../../invocation.ts';
import { plainLine } from '../../output/plain-line.ts';
import { say } from '../../output/say.ts';
import { publicJwk } from '../../public-jwk.ts';
import { readFileBounded, readStreamBounded } from '../../secret-input/read-bounded.ts';
import { readSecret } from '../../secret-input/read-secret.ts';
import type { NeededSecret } from './needed-secret.ts';
import { merged } from './presets.ts';
import { type Members, fieldArgument, fieldValue, isSecretField, withMember } from './record-members.ts';
import type { SecretOptions } from './options.ts';

/** Protocol section 2: of a body. */
const MAX_BODY_BYTES = 1_024 * 1_024;
/** Protocol 5.5: of one secret field; the schema looks at it more closely. */
const MAX_FIELD_BYTES = 64 * 1_024;
const STDIN = '-';
/** `--field provider=none`: there is to be none, and that is no oversight. */
const NO_PROVIDER = 'provider=none';

/** What the command line says of a record, all but the secret that is read last. */
export interface GivenRecord {
  readonly members: Members;
  readonly withoutProvider: boolean;
  readonly withoutQuery: boolean;
  readonly withoutRequests: boolean;
  readonly withoutApproval: boolean;
}

/** Reads `--body`, `--field` and what a secret is sealed with. @throws Failure usage, for a member that is said twice too */
export async function givenRecord(invocation: Invocation, options: SecretOptions): Promise<GivenRecord> {
  let members = options.body === undefined ? {} : await bodyFrom(invocation, options.body);
  for (const [name, value] of Object.entries(await restrictionsFrom(options)))
    members = withMember(members, [name], value);
  const fields = (options.field ?? []).filter((argument) => argument !== NO_PROVIDER);
  for (const argument of fields) {
    const field = fieldArgument(argument);
    const { path, file, text = '' } = field;
    if (file === undefined && isSecretField(field)) warnOfArguments(invocation, `--field ${path.join('.')}`);
    const read = file === undefined ? text : await textFrom(file);
    members = withMember(members, path, fieldValue(field, read));
  }
  members = merged(options.presetMembers ?? {}, members);
  warnOfAnyHost(invocation, members);
  return {
    members,
    withoutProvider: fields.length < (options.field ?? []).length,
    withoutQuery: options.allowQuery?.includes(NONE) ?? false,
    withoutRequests: options.allowRequest?.includes(NONE) ?? false,
    withoutApproval: options.requireApproval === NONE,
  };
}

/** What `*` among the hosts comes to is said whenever a record is stored with it. */
export function warnOfAnyHost(invocation: Invocation, { allowedHosts }: Members): void {
  if (Array.isArray(allowedHosts) && allowedHosts.includes('*'))
    say(invocation, 'warning: with * a proxy may send this credential to any host on the internet');
}

/**
 * Reads the secret that a record lacks, from where the command line says, and puts it in.
 * @param missing undefined where it lacks none
 * @throws Failure usage; interrupted
 */
export async function withMissingSecret(
  invocation: Invocation,
  options: SecretOptions,
  { name, members, missing }: { name: string; members: Members; missing: NeededSecret | undefined },
): Promise<Members> {
  const { value, fromFile, body } = options;
  if (missing === undefined) {
    if (value === undefined && fromFile === undefined) return members;
    throw usage(
      `${value === undefined ? '--from-file' : '--value'} is one secret too many: ${name} has its own already`,
    );
  }
  if (body === STDIN && value === undefined && (fromFile === undefined || fromFile === STDIN))
    throw usage(`what came from stdin for --body has no ${missing.path.join('.')}`);
  const question = `${missing.called[0]?.toUpperCase()}${missing.called.slice(1)} of ${name}`;
  const secret = await readSecret(invocation, { question, argument: value, file: fromFile });
  return withMember(members, ...placeOf(missing, secret));
}

function placeOf({ path, endsLine }: NeededSecret, secret: string): [NeededSecret['path'], string] {
  if (path[0] === 'secret' && /^otpauth:/i.test(secret)) return [['otpauthUri'], secret];
  return [path, endsLine === true ? `${secret}\n` : secret];
}

async function bodyFrom(invocation: Invocation, file: string): Promise<Members> {
  const { stdin, interactive } = invocation.terminal;
  if (file === STDIN && interactive.in)
    throw usage('--body - reads stdin, and stdin is this terminal; give a file');
  const bytes =
    file === STDIN
      ? await readStreamBounded(stdin, MAX_BODY_BYTES, invocation.signal)
      : await readFileBounded(file, MAX_BODY_BYTES);
  try {
    return parseWireObject(bytes);
  } catch {
    // The reason could quote what is in it.
    throw usage(`${file === STDIN ? 'stdin' : file} is not a JSON object in UTF-8, or has a member twice`);
  }
}

async function textFrom(file: string): Promise<string> {
  const bytes = await readFileBounded(file, MAX_FIELD_BYTES);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw usage(`${file} is not UTF-8 text; encode it in base64 first`);
  }
}

const warnOfArguments = (invocation: Invocation, flag: string): void =>
  say(
    invocation,
    `warning: other users of this machine can see what ${flag} has on the command line, and your shell keeps it; =@FILE keeps it to yourself`,
  );

/** For `--allow-host` and its like: an empty list, said out loud. */
export const NONE = 'none';

/**
 * The settings that are sealed with a secret, from the command line. Recipients alone mean sealed delivery.
 * @throws Failure usage
 */
async function restrictionsFrom(options: SecretOptions): Promise<Members> {
  const { allowHost, allowHeader, allowQuery, allowRequest, allowShortSecret, expiresAt } = options;
  const query = allowQuery && listed('--allow-query', allowQuery);
  const requests = allowRequest && listed('--allow-request', allowRequest).map(ruleFrom);
  const recipients = await Promise.all((options.recipient ?? []).map(publicJwk));
  const delivery = options.delivery ?? (recipients.length > 0 ? 'sealed' : undefined);
  return given({
    delivery,
    recipients: recipients.length > 0 ? recipients : undefined,
    allowedHosts: allowHost && listed('--allow-host', allowHost).map(hostFrom),
    allowedHeaders: allowHeader && listed('--allow-header', allowHeader),
    allowedQuery: query?.length === 0 ? undefined : query,
    requests: requests?.length === 0 ? undefined : requests,
    approval: approvalFrom(options),
    allowShortSecret,
    expiryTime: expiresAt,
  });
}

/** How `--require-approval` names what a passkey has to approve. @throws Failure usage */
function approvalFrom({ requireApproval, standing }: SecretOptions): ApprovalSetting | undefined {
  if (requireApproval === undefined || requireApproval === NONE) {
    if (standing === undefined) return undefined;
    throw usage('--standing is about approvals: give --require-approval credential, proxy or both');
  }
  const names = requireApproval.split(',').map((name) => name.trim());
  const uses = APPROVED_OPERATIONS.filter((name) => names.includes(name));
  if (uses.length !== names.length)
    throw usage('--require-approval takes credential, proxy or credential,proxy; or none');
  if (standing === undefined) return { by: 'passkey', for: uses };
  const standingSeconds = secondsOf(standing);
  const { minStandingSeconds, maxStandingSeconds } = APPROVAL_LIMITS;
  if (
    standingSeconds === undefined ||
    standingSeconds < minStandingSeconds ||
    standingSeconds > maxStandingSeconds
  )
    throw usage('--standing takes a duration from 1m to 8h, such as 30m or 1h30m');
  return { by: 'passkey', for: uses, standingSeconds };
}

function listed(flag: string, values: readonly string[]): readonly string[] {
  if (!values.includes(NONE)) return values;
  if (values.length === 1) return [];
  throw usage(`${flag} none cannot be combined`);
}

/** An entry of `allowedHosts`; people copy it from an address, which has more. @throws Failure usage */
function hostFrom(text: string): string {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) return text;
  const host = allowedHostFor(url);
  if (url.href === `${url.origin}/`) return host;
  throw usage(`--allow-host takes a host and no path: write ${host}`);
}

function ruleFrom(text: string): RequestRule {
  try {
    return parseRequestRule(text);
  } catch (error) {
    if (!(error instanceof RuleTextRefused)) throw error;
    throw usage(plainLine(`--allow-request: ${error.message}`));
  }
}
