import { ENVELOPE, ERAS, type Era, inEra } from './mcp-steps.ts';

/** A message that began as a good one, in whatever state it is now. */
export interface Mutant {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

type Random = () => number;

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const below = (random: Random, limit: number): number => Math.floor(random() * limit);
const oneOf = <T>(random: Random, items: readonly [T, ...T[]]): T =>
  items[below(random, items.length)] ?? items[0];

const IDS = [
  1,
  0,
  -1,
  '',
  'a',
  '1',
  1.5,
  2 ** 53,
  1e300,
  null,
  true,
  {},
  [],
  'ü\u0000"',
  'x'.repeat(300),
] as const;

const GOOD: readonly [
  readonly [string, Record<string, unknown>?],
  ...(readonly [string, Record<string, unknown>?])[],
] = [
  ['tools/call', { name: 'get_credential', arguments: { service: 'github' } }],
  ['tools/call', { name: 'list_credentials', arguments: {} }],
  ['tools/call', { name: 'whoami' }],
  ['tools/call', { name: 'show_credential', arguments: { service: 'github' } }],
  ['tools/call', { name: 'credential_history', arguments: { service: 'github', limit: 5, cursor: 'x' } }],
  ['tools/list', { cursor: 'x' }],
  [
    'initialize',
    { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  ],
  ['notifications/cancelled', { requestId: 1 }],
  ['server/discover'],
  ['ping'],
  ['subscriptions/listen', { notifications: {} }],
  ['logging/setLevel', { level: 'debug' }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: 'b' } }],
];

const VALUES = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  2 ** 53,
  1e300,
  '',
  'x',
  'github',
  '2026-07-28',
  '2025-11-25',
  'tools/call',
  '__proto__',
  'constructor',
  'toString',
  'a/b',
  '\u0000',
  '\ud800',
  '‮',
  'x'.repeat(5_000),
  [],
  {},
  [[]],
  [null],
  { a: { b: {} } },
  ENVELOPE,
  { progressToken: {} },
  { progressToken: 1 },
  { ttl: 'x' },
] as const;

const NAMES = [
  'id',
  'method',
  'params',
  'jsonrpc',
  'result',
  'error',
  'name',
  'arguments',
  'service',
  '_meta',
  'limit',
  'cursor',
  'task',
  'requestState',
  'inputResponses',
  'progressToken',
  '__proto__',
  'constructor',
  'toString',
  'then',
  'extra',
  '',
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientCapabilities',
] as const;

const HEADERS = [
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
  'last-event-id',
  'accept',
  'content-type',
] as const;

const HEADER_VALUES = [
  '',
  'x',
  '2025-11-25',
  '2026-07-28',
  '1999-01-01',
  'tools/call',
  'tools/list',
  'whoami',
  '=?base64?d2hvYW1p?=',
  '=?base64?!?=',
  'application/json',
  'text/plain',
  '*/*',
  'text/event-stream',
] as const;

type Json = Record<string, unknown> | unknown[];

/** Every object and list inside a value, itself among them. */
function containers(value: unknown, found: Json[] = []): Json[] {
  if (typeof value !== 'object' || value === null) return found;
  found.push(value as Json);
  for (const inner of Object.values(value)) containers(inner, found);
  return found;
}

/** Changes one place of a message: sets, takes away, renames or moves a member. */
function mutateTree(random: Random, message: Json): void {
  const all = containers(message);
  const place = all[below(random, all.length)] ?? message;
  const names = Object.keys(place);
  const known = names[below(random, names.length)] ?? 'x';
  const name = random() < 0.6 ? known : oneOf(random, NAMES);
  const moved = random() < 0.2;
  const value: unknown = structuredClone(moved ? all[below(random, all.length)] : oneOf(random, VALUES));
  if (random() < 0.3) delete (place as Record<string, unknown>)[known];
  // An own member of that name, as a parser would make it, and no prototype.
  else Object.defineProperty(place, name, { value, configurable: true, enumerable: true, writable: true });
}

/** Changes the text as a broken program, or a clever one, would. */
function mutateText(random: Random, text: string): string {
  const at = below(random, text.length + 1);
  const length = below(random, 20);
  switch (below(random, 8)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + text.slice(at + length);
    case 2:
      return text.slice(0, at) + text.slice(at, at + length) + text.slice(at);
    case 3:
      return (
        text.slice(0, at) +
        oneOf(random, ['{', '}', '[', ']', '"', ':', ',', '\\', '\u0000', '1e400', '😀', ' ']) +
        text.slice(at)
      );
    case 4:
      return `[${text}${random() < 0.5 ? `,${text}` : ''}]`;
    case 5:
      return text.replace(
        '{',
        `{${oneOf(random, ['"id":2,', '"method":"tools/call",', '"__proto__":{},', '"jsonrpc":"2.0",'])}`,
      );
    case 6:
      return text.replace(/\}$/, `,"deep":${'['.repeat(length * 5)}${']'.repeat(length * 5)}}`);
    default:
      return text + text;
  }
}

function mutateBytes(random: Random, bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  for (let count = 1 + below(random, 3); count > 0 && changed.length > 0; count--)
    changed[below(random, changed.length)] = below(random, 256);
  return changed;
}

function mutateHeaders(random: Random, headers: Record<string, string>): Record<string, string> {
  const name = oneOf(random, HEADERS);
  if (random() < 0.4) return Object.fromEntries(Object.entries(headers).filter(([known]) => known !== name));
  return { ...headers, [name]: oneOf(random, HEADER_VALUES) };
}

/** A good message of either era, changed in one to four places; one in twenty stays good. */
export function mutant(random: Random): Mutant {
  const era: Era = oneOf(random, ERAS);
  const [method, params] = oneOf(random, GOOD);
  const good = inEra(era, method, params, oneOf(random, IDS));
  const message = structuredClone(good.body) as Record<string, unknown>;
  let headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...good.headers,
  };
  const rounds = random() < 0.05 ? 0 : 1 + below(random, 4);
  const kinds = Array.from({ length: rounds }, () => random());
  for (const kind of kinds)
    if (kind < 0.55) mutateTree(random, message);
    else if (kind < 0.65) headers = mutateHeaders(random, headers);
  let text = JSON.stringify(message);
  for (const kind of kinds) if (kind >= 0.65 && kind < 0.9) text = mutateText(random, text);
  let body: Buffer = Buffer.from(text);
  for (const kind of kinds) if (kind >= 0.9) body = mutateBytes(random, body);
  return { body, headers };
}
