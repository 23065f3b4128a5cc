import { spellingsOf } from '../allowed-hosts.ts';
import { AmbiguousRequest, type RequestDenial } from './request-denial.ts';
import type { HttpRequest } from './http-request.ts';
import {
  CALL_TOOL,
  LIST_TOOLS,
  type McpMessage,
  WITHOUT_MESSAGE,
  isHandshake,
  pointerTokens,
  valueAt,
} from './mcp-message.ts';
import { ReadOnce } from './read-once.ts';
import { type PathPattern, matchesPath, pathPattern, readPath } from './request-path.ts';
import type { RequestRule } from './rules-schema.ts';

/** What the rules say of a request. */
export type RequestVerdict =
  | {
      readonly allowed: true;
      /** The pattern that matched, which a log may have where it may not have the path. */
      readonly path: string;
      /** That the request calls. */
      readonly tool?: string;
      /** By a rule for MCP. */
      readonly isMcp?: true;
      /** The answer may list tools, of which only those that {@link RequestRules.toolsShownAt} says may be handed on. */
      readonly listsTools?: true;
    }
  | {
      readonly allowed: false;
      readonly reason: RequestDenial;
      /** That the request would have called. */
      readonly tool?: string;
    };

export interface RequestRules {
  /** Whether one rule matches the request whole. A request with two readings is denied. */
  decide(request: HttpRequest): RequestVerdict;
  /** Whether some call of a tool is allowed at an endpoint, by the tool's name. @throws Error for a target that is denied */
  toolsShownAt(endpoint: Pick<HttpRequest, 'origin' | 'target'>): (name: string) => boolean;
}

/** Names of tools have 128 at most (MCP 2025-11-25, Tools, "Tool Names"), but nothing holds a caller to that. */
const MAX_LOGGED_CHARACTERS = 256;
const NOT_ALLOWED = { allowed: false, reason: 'rule' } as const;

type Matches = (text: string) => boolean;

/** What all rules have. */
interface Place {
  readonly hosts: ReadonlySet<string> | undefined;
  readonly paths: readonly PathPattern[];
}

interface HttpRule extends Place {
  readonly methods: ReadonlySet<string>;
}

interface McpRule extends Place {
  /** Patterns of tool names. */
  readonly tools: readonly string[];
  readonly allowsTool: Matches;
  /** Of JSON-RPC, but for `tools/call`. */
  readonly allowsMcp: Matches;
  readonly arguments: readonly { readonly tokens: readonly string[]; readonly values: readonly unknown[] }[];
}

interface CompiledRules {
  readonly http: readonly HttpRule[];
  readonly mcp: readonly McpRule[];
}

/** @param rules as the schema takes them */
export function compileRequestRules(rules: readonly RequestRule[]): RequestRules {
  const compiled = {
    http: rules.flatMap((rule) => ('methods' in rule ? httpRule(rule) : [])),
    mcp: rules.flatMap((rule) => ('methods' in rule ? [] : mcpRule(rule))),
  };
  return {
    decide: (request) => {
      try {
        return decide(compiled, request);
      } catch (error) {
        if (!(error instanceof AmbiguousRequest)) throw error;
        return { allowed: false, reason: error.ambiguity };
      }
    },
    toolsShownAt: ({ origin, target }) => {
      const destination = {
        spellings: spellingsOf(origin),
        segments: readPath(target.split('?', 1)[0] ?? ''),
      };
      const there = compiled.mcp.filter((rule) => pathOf(rule, destination) !== undefined);
      return anyOfMany(there.flatMap(({ tools }) => tools));
    },
  };
}

/** @throws AmbiguousRequest */
function decide({ http, mcp }: CompiledRules, request: HttpRequest): RequestVerdict {
  const { origin, method, body } = request;
  const reading = request instanceof ReadOnce ? request : new ReadOnce(request);
  const destination = { spellings: spellingsOf(origin), segments: reading.head.segments };
  for (const rule of http) {
    const path = allowsMethod(rule, method) ? pathOf(rule, destination) : undefined;
    if (path !== undefined) return { allowed: true, path };
  }
  let message: McpMessage | undefined;
  let match: string | undefined;
  for (const rule of mcp) {
    const path = pathOf(rule, destination);
    if (path === undefined) continue;
    if (WITHOUT_MESSAGE.has(method) && body.byteLength === 0)
      return { allowed: true, path, isMcp: true, listsTools: true };
    if (method !== 'POST') return NOT_ALLOWED;
    message ??= reading.message;
    // Behind a match as well, so that the order of the rules does not decide whether an ambiguity is met.
    if (allowsMessage(rule, message)) match ??= path;
  }
  const called = message?.kind === 'tool' && { tool: message.name.slice(0, MAX_LOGGED_CHARACTERS) };
  if (match === undefined) return { ...NOT_ALLOWED, ...called };
  const lists = message?.kind === 'request' && message.method === LIST_TOOLS && { listsTools: true as const };
  return { allowed: true, path: match, isMcp: true, ...called, ...lists };
}

type RuleOf<Member extends string> = Extract<RequestRule, Readonly<Record<Member, unknown>>>;

const httpRule = (rule: RuleOf<'methods'>): HttpRule => ({
  ...placeOf(rule),
  methods: new Set(rule.methods),
});

function mcpRule(rule: RuleOf<'tools'> | RuleOf<'mcp'>): McpRule {
  const isNamed = anyOf('mcp' in rule ? rule.mcp : []);
  const allowsMcp: Matches = (method) => isHandshake(method) || isNamed(method);
  const named = 'tools' in rule ? rule.tools : [];
  const tools = allowsMcp(CALL_TOOL) ? ['*'] : named;
  return {
    ...placeOf(rule),
    tools,
    allowsTool: anyOf(tools),
    allowsMcp,
    arguments: Object.entries(('arguments' in rule && rule.arguments) || {}).map(([pointer, values]) => ({
      tokens: pointerTokens(pointer),
      values,
    })),
  };
}

const placeOf = ({ hosts, paths }: RequestRule): Place => ({
  hosts: hosts && new Set(hosts),
  paths: paths.map(pathPattern),
});

interface Destination {
  /** Of its origin, as entries of `hosts`. */
  readonly spellings: readonly string[];
  readonly segments: readonly string[];
}

/** @returns the pattern of the rule that a destination matches */
function pathOf({ hosts, paths }: Place, { spellings, segments }: Destination): string | undefined {
  if (hosts !== undefined && !spellings.some((spelling) => hosts.has(spelling))) return undefined;
  for (const path of paths) if (matchesPath(path, segments)) return path.text;
  return undefined;
}

/** RFC 9110 section 9.3.2: HEAD is GET without the content. */
const allowsMethod = ({ methods }: HttpRule, method: string): boolean =>
  methods.has(method) || (method === 'HEAD' && methods.has('GET'));

function allowsMessage(rule: McpRule, message: McpMessage): boolean {
  switch (message.kind) {
    case 'response':
      return true;
    case 'request':
      return rule.allowsMcp(message.method);
    case 'tool':
      return (
        rule.allowsTool(message.name) &&
        rule.arguments
          // Each is looked at, whatever those before it come to: one with two readings denies the call.
          .map(({ tokens, values }) => values.includes(valueAt(message.arguments, tokens)))
          .every(Boolean)
      );
  }
}

function anyOf(patterns: readonly string[]): Matches {
  const matchers = patterns.map(matcherOf);
  const [only] = matchers;
  if (only !== undefined && matchers.length === 1) return only;
  return (text) => matchers.some((matches) => matches(text));
}

/** Like {@link anyOf}, indexed by the text before the first `*`: the time for a name hardly grows with the patterns. */
function anyOfMany(patterns: readonly string[]): Matches {
  const byHead = Map.groupBy(patterns, headOf);
  const matchers = new Map([...byHead].map(([head, those]) => [head, anyOf([...new Set(those)])]));
  const lengths = [...new Set([...matchers.keys()].map((head) => head.length))];
  return (text) => lengths.some((length) => matchers.get(text.slice(0, length))?.(text) === true);
}

const headOf = (pattern: string): string => pattern.split('*', 1)[0] ?? '';

/** A test for a name, in which `*` is any characters, in time linear to it for each of the pattern's parts. */
function matcherOf(pattern: string): Matches {
  const [head = '', ...parts] = pattern.split('*');
  const tail = parts.pop();
  if (tail === undefined) return (text) => text === pattern;
  return (text) => {
    if (!text.startsWith(head) || !text.endsWith(tail)) return false;
    let from = head.length;
    for (const part of parts) {
      const found = text.indexOf(part, from);
      if (found === -1) return false;
      from = found + part.length;
    }
    return from + tail.length <= text.length;
  };
}
