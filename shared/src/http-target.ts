import { decodeEscapes } from './percent-encoding.ts';
import { type Ambiguity, ambiguityText } from './request-rules/request-denial.ts';

/** PROTOCOL.md section 5.8: the field of a signed request that has what follows the upstream's URL. */
export const HTTP_TARGET_HEADER = 'sv-target';

const MAX_CHARACTERS = 8 * 1024;
/** Visible ASCII. */
const CHARACTERS = /^[!-~]*$/;

/** Problems of a target, but for those that it shares with request rules. */
const OWN_PROBLEMS = {
  target_length: 'The request’s path and query together are longer than 8,192 characters.',
  target_characters: 'The request’s path or query has a backslash, or a character that no URL has.',
  query_parameter: 'The request’s query names the parameter that the credential goes into.',
} as const;
type OwnProblem = keyof typeof OWN_PROBLEMS;
export const TARGET_PROBLEMS = Object.keys(OWN_PROBLEMS) as OwnProblem[];

/** Why an HTTP API is not called with a target, whether or not its record has request rules (PROTOCOL.md section 5.8). */
export type TargetProblem =
  OwnProblem | Extract<Ambiguity, 'absolute_target' | 'fragment' | 'path_dot_segment' | 'path_empty_segment'>;

/** For people; has nothing of the request. */
export const targetProblemText = (problem: TargetProblem): string =>
  Object.hasOwn(OWN_PROBLEMS, problem)
    ? OWN_PROBLEMS[problem as OwnProblem]
    : ambiguityText(problem as Ambiguity);

/**
 * Why another program could read a target as something other than a path below the upstream's URL and a query.
 *
 * @param target what follows the URL, as the agent sent it: empty, or from `/` or `?` on
 * @param upstreamUrl without a query
 * @returns undefined if none could
 */
export function targetProblem(target: string, upstreamUrl: string): TargetProblem | undefined {
  if (target.length > MAX_CHARACTERS) return 'target_length';
  if (target.includes('#')) return 'fragment';
  if (!CHARACTERS.test(target) || target.includes('\\')) return 'target_characters';
  if (!/^(?:$|[/?])/.test(target)) return 'absolute_target';
  const [path = ''] = target.split('?', 1);
  if (path.startsWith('//') && basePath(upstreamUrl) === '') return 'path_empty_segment';
  return hasDotSegment(path) ? 'path_dot_segment' : undefined;
}

/** No legitimate client encodes a path more often. */
const MAX_DECODINGS = 5;
const SEGMENT_ENDS = /[/\\]/;
/** As request rules take one (PROTOCOL.md RUL-07), or with parameters, a query or a fragment behind it. */
const DOT_SEGMENT = /^\.[. ]*(?:$|[;?#\0-\x20])/;

/** Also one that only programs see that decode delimiters first (`a%2F..%2Fb`), or decode more than once. */
function hasDotSegment(path: string): boolean {
  let text = path;
  for (let times = 0; times <= MAX_DECODINGS; times++) {
    const decoded = decodeEscapes(text);
    if (decoded === text) return text.split(SEGMENT_ENDS).some((segment) => DOT_SEGMENT.test(segment));
    text = decoded;
  }
  return true;
}

/** The request target at the upstream, byte for byte: the path of its URL, followed by the agent's target. */
export function upstreamTarget(upstreamUrl: string, target: string): string {
  const path = basePath(upstreamUrl) + target;
  return path.startsWith('/') ? path : `/${path}`;
}

function basePath(upstreamUrl: string): string {
  const { pathname } = new URL(upstreamUrl);
  return pathname.endsWith('/') ? pathname.slice(0, -1) : pathname;
}

/**
 * Whether the query of a target names a parameter, for a program that separates parameters at `&` and `;` and decodes
 * what can be decoded.
 */
export function namesParameter(target: string, name: string): boolean {
  const question = target.indexOf('?');
  if (question === -1) return false;
  return target
    .slice(question + 1)
    .split(/[&;]/)
    .some((pair) => decodeEscapes((pair.split('=', 1)[0] ?? '').replaceAll('+', ' ')) === name);
}

/** A target with parameters appended to its query. @throws URIError for a value that is not well-formed Unicode */
export function withQuery(
  target: string,
  parameters: readonly (readonly [name: string, value: string])[],
): string {
  if (parameters.length === 0) return target;
  const added = parameters.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  const question = target.indexOf('?');
  if (question === -1) return `${target}?${added}`;
  // Only a target that ends at its first question mark has an empty query; a later one is part of a value.
  return question === target.length - 1 ? target + added : `${target}&${added}`;
}
