import { usage } from '../../failure.ts';
import { plainLine } from '../../output/plain-line.ts';
import type { ExplainedCode } from './explanation.ts';

/**
 * What somebody asks about: a code in any letter case, with `-` or `_`; an exit code of this client; or an HTTP status, which
 * stands for all codes that come with it.
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
