import { spellingsOf } from '../allowed-hosts.ts';
import { AmbiguousRequest, type RequestDenial } from './request-denial.ts';
import { type HttpRequest, readRequest } from './http-request.ts';
import {
  CALL_TOOL,
  LIST_TOOLS,
  type McpMessage,
  pointerTokens,
  readMcpMessage,
  valueAt,
} from './mcp-message.ts';
import { matchesPath, readPath } from './request-path.ts';
import type { RequestRule } from './rules-schema.ts';

/** What the rules say of a request. */
export type RequestVerdict =
  | {
      readonly allowed: true;
      /** The pattern that matched, which a log may have where it may not have the path. */
      readonly path: string;
      /** That the request calls. */
      readonly tool?: string;
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

/** Pass with any rule for tools or MCP methods: without them no client gets as far as a call. */
const HANDSHAKE = ['initialize', 'server/discover', 'ping', 'notifications/*', LIST_TOOLS].map(matcherOf);
/** Where a rule is for MCP: the stream of what the server sends, and the end of a session. */
const WITHOUT_MESSAGE: ReadonlySet<string> = new Set(['GET', 'DELETE']);

/** Names of tools have 128 at most (MCP 2025-11-25, Tools, "Tool Names"), but nothing holds a caller to that. */
const MAX_LOGGED_CHARACTERS = 256;
const NOT_ALLOWED = { allowed: false, reason: 'rule' } as const;

type Matches = (text: string) => boolean;

interface CompiledRule {
  readonly hosts: ReadonlySet<string> | undefined;
  readonly paths: readonly { readonly pattern: string; readonly segments: readonly string[] }[];
  readonly methods: ReadonlySet<string> | undefined;
  readonly tools: readonly Matches[];
  readonly mcp: readonly Matches[];
  readonly arguments: readonly { readonly tokens: readonly string[]; readonly values: readonly unknown[] }[];
}

/** @param rules as the schema takes them */
export function compileRequestRules(rules: readonly RequestRule[]): RequestRules {
  const compiled = rules.map(compile);
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
      const there = compiled.filter((rule) => pathOf(rule, destination) !== undefined);
      return (name) => there.some((rule) => allowsTool(rule, name));
    },
  };
}

/** @throws AmbiguousRequest */
function decide(rules: readonly CompiledRule[], request: HttpRequest): RequestVerdict {
  const { origin, method, body } = request;
  const { segments, fields } = readRequest(request);
  const destination = { spellings: spellingsOf(origin), segments };
  const candidates = rules.flatMap((rule) => {
    const path = pathOf(rule, destination);
    return path === undefined ? [] : [{ rule, path }];
  });
  const byMethod = candidates.find(
    ({ rule }) => rule.methods !== undefined && allowsMethod(rule.methods, method),
  );
  if (byMethod !== undefined) return { allowed: true, path: byMethod.path };
  const forMcp = candidates.filter(({ rule }) => rule.methods === undefined);
  const [first] = forMcp;
  if (first === undefined) return NOT_ALLOWED;
  if (WITHOUT_MESSAGE.has(method) && body.byteLength === 0)
    return { allowed: true, path: first.path, listsTools: true };
  if (method !== 'POST') return NOT_ALLOWED;
  const message = readMcpMessage(fields, body);
  const called = message.kind === 'tool' && { tool: message.name.slice(0, MAX_LOGGED_CHARACTERS) };
  // All of them, so that the order of the rules does not decide whether an ambiguity is met.
  const [match] = forMcp.filter(({ rule }) => allowsMessage(rule, message));
  if (match === undefined) return { ...NOT_ALLOWED, ...called };
  const lists = message.kind === 'request' && message.method === LIST_TOOLS && { listsTools: true as const };
  return { allowed: true, path: match.path, ...called, ...lists };
}

function compile(rule: RequestRule): CompiledRule {
  return {
    hosts: rule.hosts && new Set(rule.hosts),
    paths: rule.paths.map((pattern) => ({ pattern, segments: readPath(pattern) })),
    methods: 'methods' in rule ? new Set(rule.methods) : undefined,
    tools: 'tools' in rule ? rule.tools.map(matcherOf) : [],
    mcp: 'mcp' in rule ? rule.mcp.map(matcherOf) : [],
    arguments: Object.entries(('arguments' in rule && rule.arguments) || {}).map(([pointer, values]) => ({
      tokens: pointerTokens(pointer),
      values,
    })),
  };
}

interface Destination {
  /** Of its origin, as entries of `hosts`. */
  readonly spellings: readonly string[];
  readonly segments: readonly string[];
}

/** @returns the pattern of the rule that a destination matches */
function pathOf({ hosts, paths }: CompiledRule, { spellings, segments }: Destination): string | undefined {
  if (hosts !== undefined && !spellings.some((spelling) => hosts.has(spelling))) return undefined;
  return paths.find((path) => matchesPath(path.segments, segments))?.pattern;
}

/** RFC 9110 section 9.3.2: HEAD is GET without the content. */
const allowsMethod = (methods: ReadonlySet<string>, method: string): boolean =>
  methods.has(method) || (method === 'HEAD' && methods.has('GET'));

function allowsMessage(rule: CompiledRule, message: McpMessage): boolean {
  switch (message.kind) {
    case 'response':
      return true;
    case 'request':
      return [...HANDSHAKE, ...rule.mcp].some((matches) => matches(message.method));
    case 'tool':
      return (
        allowsTool(rule, message.name) &&
        rule.arguments
          // Each is looked at, whatever those before it come to: one with two readings denies the call.
          .map(({ tokens, values }) => values.includes(valueAt(message.arguments, tokens)))
          .every(Boolean)
      );
  }
}

const allowsTool = (rule: CompiledRule, name: string): boolean =>
  rule.tools.some((matches) => matches(name)) || rule.mcp.some((matches) => matches(CALL_TOOL));

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
