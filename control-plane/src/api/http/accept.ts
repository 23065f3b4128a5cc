/** A media range of an `Accept` header without its parameters, in lower case, and its weight from 0 to 1. */
interface MediaRange {
  readonly type: string;
  readonly weight: number;
}

const JSON_TYPE = 'application/json';
/** From the most specific on (RFC 9110 section 12.5.1). */
const RANGES_OF_JSON = [JSON_TYPE, 'application/*', '*/*'];

/** Whether a response may be JSON. A client that sends no `Accept` takes anything. */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined) return true;
  const ranges = mediaRanges(accept);
  const [closest] = RANGES_OF_JSON.flatMap((type) => ranges.find((range) => range.type === type) ?? []);
  return closest !== undefined && closest.weight > 0;
}

/**
 * Whether a client names `application/json` itself and no media range before it: ranges rank by weight, then types before
 * wildcards, then as they are written. A wildcard alone is no preference, since most HTTP clients send one unasked.
 */
export function prefersJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === '*/*') return false;
  if (accept === JSON_TYPE) return true;
  const [first] = mediaRanges(accept)
    .filter(({ type, weight }) => weight > 0 && RANGE.test(type))
    .toSorted((a, b) => b.weight - a.weight || Number(isWildcard(a)) - Number(isWildcard(b)));
  return first?.type === JSON_TYPE;
}

const RANGE = /^[^\s/]+\/[^\s/]+$/;
const isWildcard = ({ type }: MediaRange): boolean => type.endsWith('/*');

/** Text in quotes may have commas and semicolons that separate nothing, and no parameter of it matters here. */
const QUOTED = /"(?:[^"\\]|\\.)*"?/g;
const WEIGHT = /^q=(\d+(?:\.\d*)?)$/;

function mediaRanges(accept: string): readonly MediaRange[] {
  const elements = accept.toLowerCase().replaceAll(QUOTED, '').split(',');
  return elements.map((element) => {
    const [type = '', ...parameters] = element.split(';').map((part) => part.trim());
    const weight = parameters.map((parameter) => WEIGHT.exec(parameter)?.[1]).find(Boolean) ?? '1';
    return { type, weight: Math.min(1, Number(weight)) };
  });
}
