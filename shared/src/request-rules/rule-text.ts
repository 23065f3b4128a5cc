import { INTEGER, LITERALS, type Scalar } from './format-rule.ts';
import { type RequestRule, requestRuleSchema } from './rules-schema.ts';

/** A text is no rule. The message says why, and has an example. */
export class RuleTextRefused extends Error {
  override readonly name = 'RuleTextRefused';

  constructor(why: string, kind?: Kind) {
    super(`${why}; ${kind === undefined ? `write ${ANY_EXAMPLE}` : `an example: ${EXAMPLES[kind]}`}`);
  }
}

type Kind = 'methods' | 'tools' | 'mcp';

const EXAMPLES: Readonly<Record<Kind, string>> = {
  methods: 'GET,POST api.github.com/repos/acme/*',
  tools: 'tools search_*,create_issue /mcp repo=acme/site|acme/docs',
  mcp: 'mcp resources/* /mcp',
};
const ANY_EXAMPLE = `a rule as ${EXAMPLES.methods}, or tools search_* /mcp, or ${EXAMPLES.mcp}`;

/** In the order of the schema's alternatives. */
const KINDS = ['methods', 'tools', 'mcp'] as const satisfies readonly Kind[];
const METHODS = /^[A-Z]+(?:,[A-Z]+)*$/;
const SCHEME = /^https?:\/\//;

/** To its end quote, or to the end of the line where it has none. */
const QUOTED = String.raw`"(?:[^"\\]|\\.)*(?:"|\\?$)`;
const WORDS = new RegExp(String.raw`(?:[^\s"]|${QUOTED})+`, 'gs');
const VALUES = new RegExp(String.raw`(?:^|\|)((?:[^|"]|${QUOTED})*)`, 'gs');

/**
 * Reads a rule from a line (PROTOCOL.md section 5.7): `GET,POST api.github.com/repos/acme/*`, `tools search_* /mcp`,
 * `mcp resources/* /mcp`. The host before a path may be left out. Behind the path of a rule for tools stand arguments,
 * `repo=acme/site|acme/docs`: a name or JSON pointer, and its values. These are texts, but for `true`, `false`, `null` and
 * integers; JSON quotes make any of them a text. A rule that no line can say is written as the JSON object that it is.
 * @throws RuleTextRefused
 */
export function parseRequestRule(text: string): RequestRule {
  const line = text.trim();
  const { kind, members } = line.startsWith('{') ? fromJson(line) : fromWords(line.match(WORDS) ?? []);
  const parsed = requestRuleSchema.options[KINDS.indexOf(kind)]?.safeParse(members);
  if (parsed?.data !== undefined) return parsed.data;
  const [issue] = parsed?.error?.issues ?? [];
  throw new RuleTextRefused(issue === undefined ? 'this is no rule' : problemOf(members, issue), kind);
}

interface Unchecked {
  readonly kind: Kind;
  readonly members: Readonly<Record<string, unknown>>;
}

function fromJson(text: string): Unchecked {
  let members: Unchecked['members'];
  try {
    members = JSON.parse(text) as Unchecked['members'];
  } catch {
    throw new RuleTextRefused('what begins with { is JSON, and this is none');
  }
  const [kind, ...more] = KINDS.filter((each) => Object.hasOwn(members, each));
  if (kind === undefined || more.length > 0)
    throw new RuleTextRefused('a rule has one of the members methods, tools and mcp');
  return { kind, members };
}

function fromWords([first = '', ...words]: readonly string[]): Unchecked {
  if (METHODS.test(first)) {
    const [target, ...more] = words;
    mustBeAll('methods', more);
    return { kind: 'methods', members: { ...placeOf('methods', target), methods: first.split(',') } };
  }
  if (first !== 'tools' && first !== 'mcp')
    throw new RuleTextRefused(
      first === ''
        ? 'a rule is missing'
        : `a rule begins with methods in capitals, tools or mcp, and not with ${shown(first)}`,
    );
  const [names = '', target, ...more] = words;
  if (names === '') throw new RuleTextRefused(`names are missing behind ${first}`, first);
  const members = { ...placeOf(first, target), [first]: names.split(',') };
  if (first === 'mcp') mustBeAll(first, more);
  return { kind: first, members: more.length === 0 ? members : { ...members, arguments: argumentsOf(more) } };
}

function mustBeAll(kind: Kind, [extra]: readonly string[]): void {
  if (extra === undefined) return;
  const isArgument = extra.includes('=');
  throw new RuleTextRefused(
    isArgument
      ? `${shown(extra)} is an argument, which only a rule for tools has`
      : `${shown(extra)} is one word too many: a line has one path`,
    kind,
  );
}

/** `hosts` and `paths` of a word such as `api.github.com/repos/**`. */
function placeOf(kind: Kind, word: string | undefined): Readonly<Record<string, readonly string[]>> {
  if (word === undefined) throw new RuleTextRefused('the path is missing', kind);
  const [scheme = ''] = SCHEME.exec(word) ?? [];
  const slash = word.indexOf('/', scheme.length);
  if (slash === -1) throw new RuleTextRefused(`${shown(word)} has no path, such as ${shown(word)}/**`, kind);
  // As in `allowedHosts`, a host alone means https.
  const host = word.slice(scheme === 'https://' ? scheme.length : 0, slash);
  return { ...(host !== '' && { hosts: [host] }), paths: [word.slice(slash)] };
}

function argumentsOf(words: readonly string[]): Readonly<Record<string, readonly Scalar[]>> {
  const pairs = words.map((word) => {
    const equals = word.indexOf('=');
    if (equals < 1)
      throw new RuleTextRefused(`${shown(word)} is no argument, a name with = and its values`, 'tools');
    const name = word.slice(0, equals);
    const values = [...word.slice(equals + 1).matchAll(VALUES)].map(([, value = '']) => valueOf(name, value));
    return [name.includes('/') ? name : `/${name}`, values] as const;
  });
  const pointers = pairs.map(([pointer]) => pointer);
  const repeated = pointers.find((pointer, at) => pointers.indexOf(pointer) !== at);
  if (repeated !== undefined)
    throw new RuleTextRefused(`${shown(repeated)} stands twice; its values are separated by |`, 'tools');
  return Object.fromEntries(pairs);
}

function valueOf(name: string, text: string): Scalar {
  if (text === '') throw new RuleTextRefused(`${shown(name)} lacks a value; an empty text is ""`, 'tools');
  if (text.includes('"')) return unquoted(text);
  const literal = LITERALS.get(text);
  if (literal !== undefined) return literal;
  if (!INTEGER.test(text)) return text;
  if (Number.isSafeInteger(Number(text))) return Number(text);
  throw new RuleTextRefused(`${shown(text)} is beyond 2^53; as a text it is "${shown(text)}"`, 'tools');
}

function unquoted(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'string') return value;
  } catch {
    // Said below.
  }
  throw new RuleTextRefused(
    `${shown(text)} is no text in JSON quotes, which stand around the whole of it`,
    'tools',
  );
}

/** What the schema has against a rule, with the entry that it is about. */
function problemOf(
  members: Unchecked['members'],
  { path, message }: { readonly path: readonly PropertyKey[]; readonly message: string },
): string {
  const entry = path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)?.[key], members);
  const place = typeof entry === 'string' ? shown(entry) : path.map(String).join('.');
  const said = /^[A-Z]/.test(message) ? `${message.charAt(0).toLowerCase()}${message.slice(1)}` : message;
  return /^(?:must|is)\b/.test(said) ? `${place} ${said}` : `${place}: ${said}`;
}

const MAX_SHOWN_CHARACTERS = 100;
const shown = (text: string): string => text.slice(0, MAX_SHOWN_CHARACTERS);
