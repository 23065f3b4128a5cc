import { describe, expect, test } from 'vitest';
import { FileProblem, parseMcpServers } from './mcp-servers.ts';

const parse = (servers: object) => parseMcpServers(JSON.stringify({ mcpServers: servers }));
const reason = (server: unknown) =>
  parse({ a: { url: 'https://a.example/' }, s: server }).other.find(({ name }) => name === 's')?.reason;
const problem = (text: string): string => {
  try {
    parseMcpServers(text);
  } catch (error) {
    if (error instanceof FileProblem) return error.message;
    throw error;
  }
  return 'none';
};

describe('mcpServers', () => {
  test('have the secret of a header, what stands before it, and the other headers', () => {
    const headers = { 'X-Toolsets': 'repos', Authorization: 'Bearer ghp_1' };
    expect(parse({ github: { type: 'http', url: 'https://api.example.com/mcp/', headers } })).toEqual({
      root: 'mcpServers',
      remote: [
        {
          name: 'github',
          upstreamUrl: 'https://api.example.com/mcp/',
          secret: { header: 'Authorization', prefix: 'Bearer ', value: 'ghp_1' },
          headers: { 'X-Toolsets': 'repos' },
        },
      ],
      other: [],
    });
  });

  test('are read as VS Code, Windsurf and Gemini write them, and without anything around them', () => {
    const headers = { 'X-Api-Key': 'k' };
    const one = (text: object) =>
      parseMcpServers(JSON.stringify(text)).remote.map(({ upstreamUrl }) => upstreamUrl);
    const found = ['https://x.example/mcp'];
    expect(one({ inputs: [], servers: { x: { url: found[0], headers } } })).toEqual(found);
    expect(one({ mcpServers: { x: { serverUrl: found[0], headers } } })).toEqual(found);
    expect(one({ mcpServers: { x: { httpUrl: found[0], headers } } })).toEqual(found);
    expect(one({ x: { url: found[0], headers } })).toEqual(found);
    expect(parseMcpServers(JSON.stringify({ servers: { x: { command: 'x' } } })).root).toBe('servers');
  });

  test('that run mcp-remote are the server behind it, with the secret from its environment', () => {
    const args = ['-y', 'mcp-remote@latest', 'https://r.example/mcp', '--header', 'Authorization:${AUTH}'];
    expect(parse({ r: { command: 'npx', args, env: { AUTH: 'Bearer t' } } }).remote).toEqual([
      {
        name: 'r',
        upstreamUrl: 'https://r.example/mcp',
        secret: { header: 'Authorization', prefix: 'Bearer ', value: 't' },
        headers: {},
      },
    ]);
  });

  test('whose secret is a reference have none in the file', () => {
    for (const value of ['Bearer ${env:TOKEN}', '${input:key}', '$TOKEN'])
      expect(
        parse({ r: { url: 'https://r.example/', headers: { Authorization: value } } }).remote[0]?.secret
          .value,
      ).toBe(undefined);
  });

  test('that no proxy can be made for say why', () => {
    expect(reason({ command: 'npx', args: ['server-everything'], env: { KEY: 'k' } })).toContain('stdio');
    expect(reason({ type: 'sse', url: 'https://a.example/' })).toContain('sse');
    expect(reason({ url: 'https://a.example/' })).toContain('needs no proxy');
    expect(reason({ url: 'https://a.example/?api_key=1' })).toContain('api_key');
    expect(reason({ url: 'https://u:p@a.example/' })).toContain('password');
    expect(reason({ url: 'file:///etc/passwd' })).toContain('no web address');
    expect(reason({ url: 'https://${input:host}/', headers: { Authorization: 'x' } })).toContain(
      'no web address',
    );
    expect(reason({ url: 'https://a.example/', headers: ['Authorization'] })).toContain('not texts');
    expect(reason({ url: 'https://a.example/', headers: { Authorization: 7 } })).toContain('not texts');
    expect(
      reason({ url: 'https://a.example/', headers: { Authorization: 'x', 'X-Api-Key': 'y' } }),
    ).toContain('two secrets, in Authorization and X-Api-Key');
    expect(reason({ title: 'x' })).toContain('neither a url nor a command');
    expect(reason('https://a.example/')).toContain('no object');
  });

  test('of which two have one name are not imported', () => {
    const server = '{ "url": "https://a.example/", "headers": { "Authorization": "x" } }';
    const { remote, other } = parseMcpServers(
      `{ "mcpServers": { "a": ${server}, "b": ${server}, "a": ${server} } }`,
    );
    expect(remote.map(({ name }) => name)).toEqual(['b']);
    expect(other).toEqual([{ name: 'a', reason: expect.stringContaining('Two servers have this name') }]);
  });

  test('that are damaged or none say so, with nothing of what is there', () => {
    const damaged = '{\n  "mcpServers": { "a": sk_secret_1 } }';
    expect(problem(damaged)).toMatch(/^This is no JSON/);
    expect(problem(damaged)).not.toContain('sk_');
    expect(problem('{\n  "mcpServers": { "a" 1 } }')).toBe('This is no JSON: look at line 2, character 23.');
    expect(problem('{ "mcpServers": {')).toContain('This is no JSON');
    expect(problem('')).toBe('This is empty.');
    for (const text of ['7', '[]', 'null', '{}', '{"mcpServers":[]}', '{"a":{"b":1}}', '{"mcpServers":{}}'])
      expect([text, problem(text)]).toEqual([text, expect.stringMatching(/no mcpServers|no server/)]);
    expect(problem(`"${'x'.repeat(1_000_001)}"`)).toContain('too long');
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`s${n}`, { command: 'x' }]));
    expect(problem(JSON.stringify(many))).toContain('more than 50');
  });
});
