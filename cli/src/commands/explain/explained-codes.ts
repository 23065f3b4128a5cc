import {
  CONTROL_PLANE_ERRORS,
  type ErrorDescription,
  JSON_RPC_ERRORS,
  OAUTH_ERRORS,
  type RedirectError,
  WEBHOOK_ERRORS,
} from '@svault/shared/error-catalog';
import { EXIT_CODES, type ExitName, usage } from '../../failure.ts';
import { plainLine } from '../../output/plain-line.ts';

/** The sender of a code; `svault` is this client, by its exit codes. */
export type Sender = 'service' | 'webhook' | 'oauth' | 'json-rpc' | 'svault';

/** A code as one side sends it; another side can have a code of the same name. */
export interface ExplainedCode extends Pick<ErrorDescription, 'meaning' | 'remedy' | 'mcpTool'> {
  readonly code: string;
  readonly by: Sender;
  readonly statuses: readonly number[];
}

const EXIT_CODE_REMEDIES: Readonly<Record<ExitName, string>> = {
  ok: 'Nothing is to be done.',
  failed: 'The line on stderr says why; --debug shows each request.',
  usage: 'The line on stderr says what would be right; so does --help behind the command.',
  denied: 'See who acts: svault whoami. Sign in, or take another login by --context.',
  notFound: 'Check the spelling: svault ls, svault agents list.',
  unavailable: 'svault vault status and svault webhook status say which of them it is.',
  empty: 'Store a value: svault set NAME.',
  rateLimited: 'Wait for the time that the line on stderr names.',
  differs: 'What was found is on stdout, with what to do about each.',
  interrupted: 'Run it again; what was done before stays done.',
};

const listed = (
  by: Sender,
  errors: Readonly<Record<string, ErrorDescription | RedirectError>>,
): readonly ExplainedCode[] =>
  Object.entries(errors).map(([code, { statuses, mcpTool, meaning, remedy }]) => ({
    code,
    by,
    statuses,
    ...(mcpTool && { mcpTool }),
    meaning,
    remedy,
  }));

/**
 * Every code, by its sender: those of the control plane, the webhook, OAuth and JSON-RPC, and the exit codes of this client.
 */
export const EXPLAINED_CODES: readonly ExplainedCode[] = [
  ...listed('service', CONTROL_PLANE_ERRORS),
  ...listed('webhook', WEBHOOK_ERRORS),
  ...listed('oauth', OAUTH_ERRORS),
  ...listed('json-rpc', JSON_RPC_ERRORS),
  ...(Object.keys(EXIT_CODES) as ExitName[]).map((name): ExplainedCode => ({
    code: String(EXIT_CODES[name].code),
    by: 'svault',
    statuses: [],
    meaning: sentence(EXIT_CODES[name].meaning),
    remedy: EXIT_CODE_REMEDIES[name],
  })),
];

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/**
 * Finds a code in any letter case, with `-` or `_`; an exit code of this client; or, by an HTTP status, all codes that are
 * sent with it.
 * @returns one for each side that says it
 * @throws Failure usage that names codes which look alike
 */
export function findCodes(codes: readonly ExplainedCode[], typed: string): readonly ExplainedCode[] {
  const wanted = normal(typed);
  const named = codes.filter(({ code }) => normal(code) === wanted);
  if (named.length > 0) return named;
  const withStatus = codes.filter(({ statuses }) => statuses.map(String).includes(wanted));
  if (withStatus.length > 0) return withStatus;
  const alike = new Set(codes.map(({ code }) => code).filter((code) => isAlike(normal(code), wanted)));
  const hint = alike.size === 0 ? 'svault explain lists all' : `like it: ${[...alike].join(', ')}`;
  throw usage(`there is no code ${plainLine(typed).slice(0, 100)}; ${hint}`);
}

/** The minus of JSON-RPC's codes goes too: a command line takes it for a flag. */
const normal = (code: string): string => code.toUpperCase().replaceAll('-', '_').replace(/^_+/, '');

function isAlike(code: string, wanted: string): boolean {
  const words = code.split('_');
  return (
    (wanted.length > 2 && code.startsWith(wanted)) ||
    wanted.split('_').some((word) => word.length > 2 && words.includes(word))
  );
}
