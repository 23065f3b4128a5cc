import { shellWord } from '@svault/shared';
import { type RequestRule, formatRequestRule } from '@svault/shared/request-rules';
import { DEFAULT_ALLOWED_HEADERS } from '@svault/shared/schemas';
import { durationText } from '../../api/duration.ts';
import { Interrupted, usage } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { plainLine } from '../../output/plain-line.ts';
import { say } from '../../output/say.ts';
import { agrees } from '../../secret-input/ask.ts';
import { flagOf } from '../option-flags.ts';
import { type GivenRecord, NONE, warnOfAnyHost } from './given-record.ts';
import { type Members, fieldArgument, isSecretField } from './record-members.ts';
import type { HeldRecord } from './token.ts';

/** What a stored record has and the command line does not say. */
interface Unsaid {
  /** That would store it again, in the order in which they are written. */
  readonly flags: readonly string[];
  readonly members: Members;
  /** Part of it is not in the metadata: recipients, the secrets of a refresh, its scope. */
  readonly isIncomplete: boolean;
}

/**
 * The record that a command line says, with the restrictions of the stored one that it leaves out. The webhook carries nothing
 * over (protocol 5.5), and the control plane, which says what there was, could say something else: a person has to confirm it
 * or to give it.
 *
 * @param typed the options, as they were given
 * @throws Failure usage with the whole command where nobody can confirm; interrupted for no
 */
export async function withKeptRestrictions(
  invocation: Invocation,
  name: string,
  { held, given, typed }: { held: HeldRecord; given: GivenRecord; typed: object },
): Promise<GivenRecord> {
  sayDropped(invocation, held, given);
  const { flags, members, isIncomplete } = unsaid(held, given);
  if (flags.length === 0) return given;
  const { interactive } = invocation.terminal;
  if (isIncomplete || !interactive.in || !interactive.err) {
    const all = [...typedFlags({ context: invocation.flags.ctx, ...typed }), ...flags];
    const command = ['svault set', ...[name, ...all].map(shellWord)].join(' ');
    throw usage(
      `the restrictions of ${name} are sealed with its secret, so a new secret needs them again: ${command}`,
    );
  }
  say(invocation, `${name} is stored with:`);
  for (const line of linesOf(flags)) say(invocation, `  ${plainLine(line)}`);
  if (!(await agrees(invocation, 'Keep these?'))) {
    say(invocation, 'nothing is stored; give the options that it is to have instead');
    throw new Interrupted();
  }
  warnOfAnyHost(invocation, members);
  return { ...given, members: { ...given.members, ...members } };
}

/** Hosts, rules and approvals that are given replace all that are stored, which a person who adds one may not expect. */
function sayDropped(invocation: Invocation, held: HeldRecord, { members: said }: GivenRecord): void {
  const { allowedHosts, requests, approval } = said;
  if (Array.isArray(allowedHosts)) sayReplaced(invocation, '--allow-host', held.allowedHosts, allowedHosts);
  if (Array.isArray(requests))
    sayReplaced(
      invocation,
      '--allow-request',
      linesOfRules(held),
      (requests as RequestRule[]).map(formatRequestRule),
    );
  const before = linesOf(approvalFlags(held.approval));
  const after = linesOf(approvalFlags(approval as HeldRecord['approval']));
  if (approval !== undefined && before.some((line) => !after.includes(line)))
    say(invocation, `replaces: ${plainLine(before.join(' '))}`);
}

/** What a passkey has to approve, as flags. */
const approvalFlags = (approval: HeldRecord['approval']): readonly string[] =>
  approval === undefined
    ? []
    : [
        ...['--require-approval', approval.for.join(',')],
        ...(approval.standingSeconds === undefined
          ? []
          : ['--standing', durationText(approval.standingSeconds)]),
      ];

function sayReplaced(
  invocation: Invocation,
  flag: string,
  before: readonly string[],
  given: readonly string[],
): void {
  const dropped = before.filter((each) => !given.includes(each));
  if (dropped.length === 0) return;
  const flags = dropped.map((each) => `${flag} ${shellWord(each)}`).join(' ');
  say(invocation, `replaces: ${plainLine(dropped.join(', '))} (to keep: ${plainLine(flags)})`);
}

const linesOfRules = ({ requests = [] }: HeldRecord): readonly string[] => requests.map(formatRequestRule);

function unsaid(held: HeldRecord, given: GivenRecord): Unsaid {
  const { delivery, allowedHosts, allowedHeaders, allowedQuery = [], provider } = held;
  const { members: said, withoutProvider, withoutQuery, withoutRequests, withoutApproval } = given;
  const flags: string[] = [];
  const members: Record<string, unknown> = {};
  const isSealed = delivery === 'sealed' && said['delivery'] === undefined;
  if (isSealed) flags.push('--delivery', 'sealed', '--recipient', '@FILE');
  else if (delivery !== 'any' && said['delivery'] === undefined) {
    flags.push('--delivery', delivery);
    members['delivery'] = delivery;
  }
  if (allowedHosts.length > 0 && said['allowedHosts'] === undefined) {
    flags.push(...allowedHosts.flatMap((host) => ['--allow-host', host]));
    members['allowedHosts'] = allowedHosts;
  }
  const hosts = said['allowedHosts'] ?? allowedHosts;
  const isInjected = Array.isArray(hosts) && hosts.length > 0;
  if (isInjected && said['allowedHeaders'] === undefined && !areDefault(allowedHeaders)) {
    const names = allowedHeaders.length === 0 ? [NONE] : allowedHeaders;
    flags.push(...names.flatMap((header) => ['--allow-header', header]));
    members['allowedHeaders'] = allowedHeaders;
  }
  if (isInjected && allowedQuery.length > 0 && said['allowedQuery'] === undefined && !withoutQuery) {
    flags.push(...allowedQuery.flatMap((parameter) => ['--allow-query', parameter]));
    members['allowedQuery'] = allowedQuery;
  }
  if (isInjected && held.requests !== undefined && said['requests'] === undefined && !withoutRequests) {
    flags.push(...linesOfRules(held).flatMap((line) => ['--allow-request', line]));
    members['requests'] = held.requests;
  }
  if (held.approval !== undefined && said['approval'] === undefined && !withoutApproval) {
    flags.push(...approvalFlags(held.approval));
    members['approval'] = held.approval;
  }
  const isRefreshed = provider !== undefined && said['provider'] === undefined && !withoutProvider;
  if (isRefreshed) flags.push(...providerFlags(provider, held.hasRefreshToken, said));
  return { flags, members, isIncomplete: isSealed || isRefreshed };
}

function providerFlags(
  { tokenUrl, clientId, authMethod, mediated }: NonNullable<HeldRecord['provider']>,
  hasRefreshToken: boolean,
  said: Members,
): readonly string[] {
  const isSecret = mediated !== true && authMethod?.startsWith('client_secret') === true;
  return [
    `provider.tokenUrl=${tokenUrl}`,
    `provider.clientId=${clientId}`,
    ...(authMethod === undefined ? [] : [`provider.authMethod=${authMethod}`]),
    ...(mediated === true ? ['provider.mediated=true'] : []),
    ...(isSecret ? ['provider.clientSecret=@FILE'] : []),
    ...(hasRefreshToken && said['refreshToken'] === undefined ? ['refreshToken=@FILE'] : []),
  ].flatMap((field) => ['--field', field]);
}

const areDefault = (headers: readonly string[]): boolean =>
  headers
    .map((header) => header.toLowerCase())
    .sort()
    .join() === DEFAULT_ALLOWED_HEADERS.toSorted().join();

/** Options as they were typed, without a secret among them: it would stand in the shell's history once more. */
const typedFlags = (typed: object): readonly string[] =>
  Object.entries(typed)
    .filter(([option, value]) => option !== 'value' && value !== undefined)
    .flatMap(([option, value]: [string, unknown]) =>
      [value]
        .flat()
        .flatMap((each) =>
          each === true ? [flagOf(option)] : [flagOf(option), shown(option, String(each))],
        ),
    );

function shown(option: string, text: string): string {
  if (option !== 'field') return text;
  const field = fieldArgument(text);
  return field.file === undefined && isSecretField(field) ? `${field.path.join('.')}=@FILE` : text;
}

/** `--flag value` for each. */
const linesOf = (flags: readonly string[]): readonly string[] =>
  flags.flatMap((flag, at) => (at % 2 === 0 ? [`${flag} ${flags[at + 1] ?? ''}`] : []));
