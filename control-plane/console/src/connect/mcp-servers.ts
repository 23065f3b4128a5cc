/** A server of an `mcpServers` file whose calls a proxy can make. */
export interface RemoteServer {
  readonly name: string;
  readonly upstreamUrl: string;
  /** The header that has the secret, what stands before it, and the secret itself where the file has it. */
  readonly secret: { readonly header: string; readonly prefix: string; readonly value: string | undefined };
  /** Headers without a secret. */
  readonly headers: Readonly<Record<string, string>>;
}

/** One that no proxy is made for, and why. */
export interface OtherServer {
  readonly name: string;
  readonly reason: string;
}

export interface McpServers {
  /** The member that has them: VS Code has another one. */
  readonly root: 'mcpServers' | 'servers';
  readonly remote: readonly RemoteServer[];
  readonly other: readonly OtherServer[];
}

/** What is wrong with a file as a whole. Its message has nothing of what is in the file. */
export class FileProblem extends Error {}

const MAX_CHARACTERS = 1_000_000;
const MAX_SERVERS = 50;

/**
 * Reads the MCP servers of a client's settings: `mcpServers` of Claude Code, Cursor and others, `servers` of VS Code, or the
 * servers alone.
 *
 * @throws FileProblem
 */
export function parseMcpServers(text: string): McpServers {
  if (text.length > MAX_CHARACTERS) throw new FileProblem('This is too long for settings of MCP servers.');
  const file = parsed(text);
  const named = isObject(file) ? (file['mcpServers'] ?? file['servers'] ?? file) : file;
  if (!isObject(named)) throw new FileProblem('This has no mcpServers in it.');
  const servers = Object.entries(named);
  if (servers.length === 0) throw new FileProblem('There is no server in mcpServers.');
  if (
    !servers.some(
      ([, server]) => isObject(server) && ('command' in server || addressOf(server) !== undefined),
    )
  )
    throw new FileProblem('This has no mcpServers in it: no entry has a url or a command.');
  if (servers.length > MAX_SERVERS) throw new FileProblem(`These are more than ${MAX_SERVERS} servers.`);
  const twice = repeatedNames(text);
  const read = servers.map(([name, server]) =>
    twice.has(name)
      ? { name, reason: 'Two servers have this name. Rename one, and read the file again.' }
      : serverOf(name, server),
  );
  return {
    root:
      isObject(file) && file['mcpServers'] === undefined && file['servers'] !== undefined
        ? 'servers'
        : 'mcpServers',
    remote: read.filter((server) => 'upstreamUrl' in server),
    other: read.filter((server) => 'reason' in server),
  };
}

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The parser's own message repeats what is in the file. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const position = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
    if (text.trim() === '') throw new FileProblem('This is empty.');
    if (position === undefined) throw new FileProblem('This is no JSON, or it is cut off at its end.');
    const before = text.slice(0, Number(position)).split('\n');
    throw new FileProblem(
      `This is no JSON: look at line ${before.length}, character ${(before.at(-1) ?? '').length + 1}.`,
    );
  }
}

/** Names that an object of the file has twice, of which the parser keeps the last without a word. */
function repeatedNames(text: string): ReadonlySet<string> {
  const twice = new Set<string>();
  const open: Set<string>[] = [];
  const tokens = text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g);
  for (const [token, isName] of tokens) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (isName !== undefined) {
      const name = JSON.parse(token.replace(/\s*:$/, '')) as string;
      if (open.at(-1)?.has(name)) twice.add(name);
      open.at(-1)?.add(name);
    }
  }
  return twice;
}

const addressOf = (server: Json): unknown => server['url'] ?? server['serverUrl'] ?? server['httpUrl'];

function serverOf(name: string, server: unknown): RemoteServer | OtherServer {
  const other = (reason: string): OtherServer => ({ name, reason });
  if (!isObject(server)) return other('Its entry is no object.');
  const address = addressOf(server);
  if (address === undefined)
    return 'command' in server
      ? throughMcpRemote(name, server)
      : other('Its entry has neither a url nor a command.');
  if (server['type'] === 'sse') return other('It uses server-sent events (sse), which proxies do not speak.');
  return remoteServer(name, address, server['headers'] ?? {});
}

/** `npx mcp-remote URL --header "Name: value"` is a remote server; other programs run on the client's computer. */
function throughMcpRemote(name: string, { args, env = {} }: Json): RemoteServer | OtherServer {
  const words = Array.isArray(args) ? args.filter((word) => typeof word === 'string') : [];
  const at = words.findIndex((word) => /^mcp-remote(@|$)/.test(word));
  const address = words.slice(at + 1).find((word) => /^https?:\/\//.test(word));
  if (at === -1 || address === undefined)
    return {
      name,
      reason: 'It is a program on the client’s computer (stdio), so no proxy can stand before it.',
    };
  const headers = words.flatMap((word, index) => {
    const [, header, value] = /^([^:]+):\s*(.*)$/.exec(words[index - 1] === '--header' ? word : '') ?? [];
    if (header === undefined || value === undefined) return [];
    const filled = value.replaceAll(/\$\{(\w+)\}/g, (reference, variable: string) => {
      const known = isObject(env) ? env[variable] : undefined;
      return typeof known === 'string' ? known : reference;
    });
    return [[header, filled] as const];
  });
  return remoteServer(name, address, Object.fromEntries(headers));
}

const SECRET_NAME = /key|token|secret|password|sig|auth|cookie/i;
/** `${env:NAME}`, `${NAME}`, `${input:name}`: the secret is elsewhere. */
const REFERENCE = /\$\{[^}]*\}|^\$\w+$/;

function remoteServer(name: string, address: unknown, headers: unknown): RemoteServer | OtherServer {
  const other = (reason: string): OtherServer => ({ name, reason });
  const url = typeof address === 'string' ? URL.parse(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || REFERENCE.test(String(address)))
    return other('Its url is no web address.');
  if (url.username !== '' || url.password !== '')
    return other('Its url has a password in it. A proxy puts the credential into a header alone.');
  const inQuery = [...url.searchParams.keys()].find((member) => SECRET_NAME.test(member));
  if (inQuery !== undefined)
    return other(`Its url has a secret in it (${inQuery}). A proxy puts the credential into a header alone.`);
  if (!isObject(headers) || Object.values(headers).some((value) => typeof value !== 'string'))
    return other('Its headers are not texts.');
  const all = Object.entries(headers as Readonly<Record<string, string>>);
  const secrets = all.filter(([header, value]) => SECRET_NAME.test(header) || REFERENCE.test(value));
  const [first, second] = secrets;
  if (first === undefined) return other('No header of it has a secret: it needs no proxy.');
  if (second !== undefined)
    return other(
      `It has two secrets, in ${first[0]} and ${second[0]}. A proxy puts one credential into a call.`,
    );
  return {
    name,
    upstreamUrl: url.href,
    secret: secretOf(...first),
    headers: Object.fromEntries(all.filter(([header]) => header !== first[0])),
  };
}

/** A scheme such as `Bearer` stays in front of the credential. */
function secretOf(header: string, text: string): RemoteServer['secret'] {
  const [, prefix = '', value = ''] = /^((?:Bearer|Basic|Token|ApiKey)\s+)?(.*)$/is.exec(text.trim()) ?? [];
  return { header, prefix, value: REFERENCE.test(value) || value === '' ? undefined : value };
}
