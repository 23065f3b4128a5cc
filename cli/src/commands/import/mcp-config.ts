import { isShortSecret } from '@svault/shared';
import { allowedHostFor, headerTemplatesSchema } from '@svault/shared/schemas';
import { type Node, type ParseError, parseTree } from 'jsonc-parser';
import { type Finding, type McpServer, type Parsed, parsedFrom } from './finding.ts';
import { isOwnKey, isSecretName, isPlaceholder, judged } from './is-secret.ts';
import { lineAt } from './lines.ts';
import { plainFinding, settingFinding, svaultFinding } from './plain-finding.ts';

/** A document of JSON with comments, as VS Code writes them. */
interface JsonDocument {
  readonly text: string;
  readonly root: Node;
}

/** An object of the document with the names that lead to it. */
interface Place {
  readonly path: readonly string[];
  readonly node: Node;
}

/**
 * A document whose objects have each name once: of two, one program would read the first and another one the last.
 * @returns undefined for another text
 */
export function jsonDocument(text: string): JsonDocument | undefined {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  return root === undefined || errors.length > 0 || hasNameTwice(root) ? undefined : { text, root };
}

function hasNameTwice(node: Node): boolean {
  const { type, children = [] } = node;
  if (type === 'object') {
    const names = children.map(nameOf);
    if (new Set(names).size < names.length) return true;
  }
  return children.some(hasNameTwice);
}

/** The name of a member of an object. */
export const nameOf = ({ children = [] }: Node): string => String(children[0]?.value ?? '');

/** The value of a member of an object. */
const memberOf = (node: Node | undefined, name: string): Node | undefined =>
  node?.type === 'object' ? node.children?.find((each) => nameOf(each) === name)?.children?.[1] : undefined;

const membersOf = ({ path, node }: Place): readonly (readonly [string, Place])[] =>
  node.type !== 'object'
    ? []
    : (node.children ?? []).flatMap((each) => {
        const [, value] = each.children ?? [];
        const name = nameOf(each);
        return value === undefined ? [] : [[name, { path: [...path, name], node: value }] as const];
      });

/** The values of the object that a member is; none where there is no such member. */
function below({ path, node }: Place, name: string): readonly Place[] {
  const member = memberOf(node, name);
  if (member === undefined) return [];
  return membersOf({ path: [...path, name], node: member }).map(([, value]) => value);
}

const textOf = (node: Node | undefined): string | undefined =>
  typeof node?.value === 'string' ? node.value : undefined;

/**
 * The secrets of an MCP configuration: in the environment of servers that are started, in headers, and in the query of addresses.
 * @returns undefined for what is no such JSON
 */
export function inMcpConfig(text: string): Parsed | undefined {
  const document = jsonDocument(text);
  if (document === undefined) return undefined;
  return parsedFrom(
    serversIn(document.root).flatMap((server) => [
      ...inEnvironment(document, server),
      ...inHeaders(document, server),
      ...inQuery(document, server),
    ]),
  );
}

/** `servers` of VS Code, `mcpServers` of the others, and those of each project in `~/.claude.json`. */
function serversIn(root: Node): readonly Place[] {
  const all: Place = { path: [], node: root };
  return [all, ...below(all, 'projects')].flatMap((holder) => [
    ...below(holder, 'servers'),
    ...below(holder, 'mcpServers'),
  ]);
}

const serverName = ({ path }: Place): string => path.at(-1) ?? '';

const whereIs = ({ text }: JsonDocument, { path, node }: Place) => ({
  line: lineAt(text, node.offset),
  place: path.join('.'),
});

/** A name that says the server already is not said twice: `github-github_token`. */
function calledAfter(server: Place, name: string): string {
  const [before, whole] = [serverName(server), name.replaceAll(/_/g, '-')];
  return whole.toLowerCase().startsWith(before.toLowerCase()) ? whole : `${before}-${whole}`;
}

/** @returns for each variable a finding, or undefined for what is no secret */
function inEnvironment(document: JsonDocument, server: Place): readonly (Finding | undefined)[] {
  const node = memberOf(server.node, 'env');
  if (node === undefined) return [];
  return membersOf({ path: [...server.path, 'env'], node }).map(([name, place]) => {
    const value = textOf(place.node);
    if (value === undefined) return undefined;
    return settingFinding(name, { ...whereIs(document, place), called: calledAfter(server, name), value });
  });
}

/** A header that holds a credential: its scheme, such as `Bearer `, and the rest. */
interface SecretHeader {
  readonly name: string;
  readonly place: Place;
  readonly scheme: string;
  readonly value: string;
}

const AUTHORIZATION = 'authorization';

function inHeaders(document: JsonDocument, server: Place): readonly (Finding | undefined)[] {
  const node = memberOf(server.node, 'headers');
  if (node === undefined) return [];
  const members = membersOf({ path: [...server.path, 'headers'], node });
  const secrets = members.flatMap(([name, place]) => secretHeader(name, place) ?? []);
  const url = addressOf(server);
  const found = secrets.map((secret) => {
    const { name, value, place } = secret;
    const isMain = name.toLowerCase() === AUTHORIZATION;
    const called = isMain ? serverName(server) : calledAfter(server, name);
    const at = { ...whereIs(document, place), called };
    if (isOwnKey(value)) return svaultFinding(at);
    const hosts = url === undefined ? [] : [allowedHostFor(url)];
    const replaceable = secrets.length === 1 && url !== undefined && !hasSecretQuery(url);
    return {
      ...plainFinding({ ...at, value, hosts, header: name }),
      server: replaceable ? proxied(server, url, secret, members) : undefined,
    };
  });
  return [...found, ...members.slice(secrets.length).map(() => undefined)];
}

function secretHeader(name: string, place: Place): SecretHeader | undefined {
  const text = textOf(place.node)?.trim() ?? '';
  const [, scheme = '', value = text] =
    /^((?:Bearer|Basic|Token|ApiKey|Api-Key|Key) +)(\S.*)$/i.exec(text) ?? [];
  const isSecret =
    name.toLowerCase() === AUTHORIZATION || isSecretName(name) || judged(name, value) !== 'other';
  return isSecret && !isPlaceholder(text) && !isPlaceholder(value)
    ? { name, place, scheme, value }
    : undefined;
}

function addressOf({ node }: Place): URL | undefined {
  const text = textOf(memberOf(node, 'url'));
  return text === undefined || isPlaceholder(text) ? undefined : webAddress(text);
}

/** As a proxy takes an upstream: http or https, without userinfo and fragment. */
function webAddress(text: string): URL | undefined {
  const url = URL.parse(text);
  const isPlain = url !== null && [url.username, url.password, url.hash].every((part) => part === '');
  return isPlain && /^https?:$/.test(url.protocol) ? url : undefined;
}

/**
 * What a proxy for the server needs; undefined where none can replace it: it speaks the older transport (SSE), another header
 * refers to a value that only the client knows, or the secret is too short to be injected (PROTOCOL.md section 5.5).
 */
function proxied(
  { path, node }: Place,
  url: URL,
  { name, scheme, value }: SecretHeader,
  members: readonly (readonly [string, Place])[],
): McpServer | undefined {
  const type = textOf(memberOf(node, 'type'))?.toLowerCase();
  if (type === 'sse' || type === 'stdio' || isShortSecret(value)) return undefined;
  const headers = members.map(([each, place]) =>
    each === name ? ([each, `${scheme}\${TOKEN}`] as const) : ([each, textOf(place.node) ?? '${}'] as const),
  );
  const others = headers.filter(([each]) => each !== name);
  if (others.some(([, text]) => /\$[{<(]/.test(text))) return undefined;
  const templates = headerTemplatesSchema.safeParse(Object.fromEntries(headers));
  return templates.success
    ? { path, url: url.href, header: name, headerTemplates: templates.data }
    : undefined;
}

const secretsOfQuery = (url: URL): readonly (readonly [string, string])[] =>
  [...url.searchParams].filter(([name, value]) => judged(name, value) === 'secret');
const hasSecretQuery = (url: URL): boolean => secretsOfQuery(url).length > 0;

function inQuery(document: JsonDocument, server: Place): readonly Finding[] {
  const node = memberOf(server.node, 'url');
  const url = addressOf(server);
  if (node === undefined || url === undefined) return [];
  return secretsOfQuery(url).map(([name, value]) => {
    const place = { path: [...server.path, 'url', name], node };
    return plainFinding({
      ...{ ...whereIs(document, place), value },
      called: calledAfter(server, name),
      hosts: [allowedHostFor(url)],
    });
  });
}

/** The value that names of members lead to. */
export const nodeAt = ({ root }: JsonDocument, path: readonly string[]): Node | undefined =>
  path.reduce<Node | undefined>(memberOf, root);

/** What a secret header says in the document now; undefined where there is none. */
export function headerNow(document: JsonDocument, { path, header }: McpServer): string | undefined {
  return textOf(nodeAt(document, [...path, 'headers', header]))?.trim();
}

/** The address of a server in the document now. */
export function urlNow(document: JsonDocument, { path }: McpServer): string | undefined {
  const text = textOf(nodeAt(document, [...path, 'url']));
  return text === undefined ? undefined : webAddress(text)?.href;
}
