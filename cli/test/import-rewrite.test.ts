import { chmodSync, lstatSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { expect, onTestFinished, test } from 'vitest';
import { writePrivateFile } from '../src/contexts/private-file.ts';
import { failed } from '../src/failure.ts';
import type { Item } from '../src/commands/import/known.ts';
import { inMcpConfig } from '../src/commands/import/mcp-config.ts';
import { type Rewritable, mustBeRewritable, rewriteConfig } from '../src/commands/import/rewrite-config.ts';

const SECRET = 'Vb7mQ2xK9pLd4RtY8wZc';
const KEY = `mcp_${'B'.repeat(43)}`;
const PROXY = 'https://svault.example/api/proxy/mcp';

/** A configuration in a folder, and its only server as it is found there. */
function found(text: string): { readonly path: string; readonly item: Rewritable } {
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  const path = join(dir.path, 'mcp.json');
  writeFileSync(path, text);
  const [finding] = inMcpConfig(text.replace(/^\u{feff}/u, ''))?.findings ?? [];
  if (finding?.server === undefined) throw new Error('nothing to rewrite');
  const source = { kind: 'mcp' as const, path, folder: '', label: '', isNamed: true };
  const item: Item = { ...finding, source, file: path, names: [], origin: '', name: 'web', state: 'new' };
  return { path, item: { ...item, server: finding.server } };
}

const server = (header = 'Authorization', more = ''): string =>
  `{ "servers": { "web": { "url": "https://mcp.example/", "headers": { "${header}": "Bearer ${SECRET}"${more} } } } }`;
const rewrite = (item: Rewritable, backups = new Map<string, string>()): Promise<string> =>
  rewriteConfig(item, { url: PROXY, key: KEY, backups });
const serverAt = (path: string): unknown =>
  (JSON.parse(readFileSync(path, 'utf8')) as { servers: { web: unknown } }).servers.web;

test.each([
  ['Authorization', ''],
  ['authorization', ', "X-Team": "shop"'],
  ['X-Api-Key', ''],
  ['X-Api-Key', ', "X-Team": "shop"'],
])('the key of the proxy takes the place of all headers: %s%s', async (header, more) => {
  const { path, item } = found(server(header, more));
  await mustBeRewritable(item);
  await rewrite(item);
  const name = header === 'authorization' ? header : 'Authorization';
  expect(serverAt(path)).toEqual({ url: PROXY, headers: { [name]: `Bearer ${KEY}` } });
  expect(lstatSync(path).mode & 0o777).toBe(0o600);
});

test('the mark of byte order, tabs and line ends stay', async () => {
  const text = `\u{feff}// first\r\n${server().replace('{ "servers"', '{\r\n\t"servers"')}\r\n`;
  const { path, item } = found(text);
  await rewrite(item);
  const expected = text.replace('https://mcp.example/', PROXY).replace(SECRET, KEY);
  expect(readFileSync(path, 'utf8')).toBe(expected);
});

test('a backup never takes the place of an older one', async () => {
  const { path, item } = found(server());
  writeFileSync(`${path}.svault-backup`, 'older');
  symlinkSync('/dev/null', `${path}.svault-backup-2`);
  expect(await rewrite(item)).toBe(`${path}.svault-backup-3`);
  expect(readFileSync(`${path}.svault-backup`, 'utf8')).toBe('older');
  expect(readFileSync(`${path}.svault-backup-3`, 'utf8')).toBe(server());
  expect(lstatSync(`${path}.svault-backup-3`).mode & 0o777).toBe(0o600);
});

test('one run keeps one backup of a file', async () => {
  const { path, item } = found(server());
  const backups = new Map([[path, 'kept before']]);
  expect(await rewrite(item, backups)).toBe('kept before');
  expect(readdirSync(join(path, '..'))).toEqual(['mcp.json']);
});

test.each([
  ['another secret', server().replace(SECRET, 'Hs6Df3Gk1Lz8Xc5Vb2Nm')],
  ['another address', server().replace('mcp.example', 'mcp2.example')],
  ['no such server', '{}'],
  ['no JSON', server().slice(0, 40)],
])('a file that has %s by now is left as it is', async (_, now) => {
  const { path, item } = found(server());
  writeFileSync(path, now);
  const refusal = /has changed since it was read, and is left as it is: run the command again/;
  await expect(mustBeRewritable(item)).rejects.toThrow(refusal);
  await expect(rewrite(item)).rejects.toThrow(refusal);
  expect(readFileSync(path, 'utf8')).toBe(now);
  expect(readdirSync(join(path, '..'))).toEqual(['mcp.json']);
});

test('a change right before the new file takes the place of the old one stops it', async () => {
  const { path } = found(server());
  const stop = writePrivateFile(path, 'new', () => Promise.reject(failed('it changed')));
  await expect(stop).rejects.toThrow('it changed');
  expect(readFileSync(path, 'utf8')).toBe(server());
  expect(readdirSync(join(path, '..'))).toEqual(['mcp.json']);
});

test('a file in a folder that cannot be written is refused before a proxy is made', async () => {
  const { path, item } = found(server());
  chmodSync(join(path, '..'), 0o500);
  onTestFinished(() => chmodSync(join(path, '..'), 0o700));
  // Root may write everywhere.
  if (process.geteuid?.() === 0) return expect(mustBeRewritable(item)).resolves.toBeUndefined();
  return expect(mustBeRewritable(item)).rejects.toThrow('cannot be rewritten: permission denied');
});
