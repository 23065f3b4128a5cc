import { constants } from 'node:fs';
import { access, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { applyEdits, modify } from 'jsonc-parser';
import { writePrivateFile } from '../../contexts/private-file.ts';
import { failed } from '../../failure.ts';
import { systemCode, systemReason } from '../../system-reason.ts';
import type { McpServer } from './finding.ts';
import type { Item } from './known.ts';
import { headerNow, jsonDocument, nameOf, nodeAt, urlNow } from './mcp-config.ts';
import { NotRead, type ReadSource, readSource } from './read-source.ts';

const BACKUP = '.svault-backup';
/** More than anybody keeps. */
const MAX_BACKUPS = 100;

/** An item whose place in a configuration a proxy can take. */
export type Rewritable = Item & { readonly server: McpServer };

/** Whether the file of an item can be rewritten now; asked before a proxy is created. @throws Failure */
export async function mustBeRewritable(item: Rewritable): Promise<void> {
  const { isOfAnother } = await asFound(item);
  if (isOfAnother) throw failed(`${item.file} belongs to another user, and is not rewritten`);
  try {
    await access(dirname(item.source.path), constants.W_OK);
  } catch (error) {
    throw failed(`${item.file} cannot be rewritten: ${systemReason(error)}`, error);
  }
}

/**
 * Leads a server of an MCP configuration to a proxy. The file is replaced whole or not at all, for this user alone; everything
 * else in it stays as it is, comments too.
 * @param proxy.backups by path: what was kept in this run, once for each file
 * @returns the path of the backup, as it is shown
 * @throws Failure where the file is not as it was found any more
 */
export async function rewriteConfig(
  item: Rewritable,
  proxy: { readonly url: string; readonly key: string; readonly backups: Map<string, string> },
): Promise<string> {
  const { source, server, file } = item;
  const before = await asFound(item);
  const text = rewritten(before.text, server, proxy);
  const backup = proxy.backups.get(source.path) ?? file + (await keepBackup(source.path, before.bytes));
  proxy.backups.set(source.path, backup);
  const mark = before.bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? '\u{feff}' : '';
  await writePrivateFile(source.path, mark + text, async () => {
    const now = await readSource(source.path);
    if (now === undefined || !now.bytes.equals(before.bytes)) throw changed(item);
  });
  return backup;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

const changed = ({ file }: Item): Error =>
  failed(`${file} has changed since it was read, and is left as it is: run the command again`);

/** The file, if the server in it has still the address and the secret that were found. */
async function asFound(item: Rewritable): Promise<ReadSource> {
  const { source, server, file, record } = item;
  let read: ReadSource | undefined;
  try {
    read = await readSource(source.path);
  } catch (error) {
    if (!(error instanceof NotRead)) throw error;
    throw failed(`${file} ${error.message}`, error);
  }
  const document = read && jsonDocument(read.text);
  const { [server.header]: template = '' } = server.headerTemplates;
  const header = template.replace('${TOKEN}', () => String(record?.reveal()['value']));
  const isSame =
    document !== undefined &&
    headerNow(document, server) === header &&
    urlNow(document, server) === server.url;
  if (read === undefined || !isSame) throw changed(item);
  return read;
}

/** The headers of a server move to its proxy, all of them; that of the key takes their place. */
function rewritten(
  text: string,
  { path, header }: McpServer,
  { url, key }: { readonly url: string; readonly key: string },
): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const options = { formattingOptions: { insertSpaces: !/^\t/m.test(text), tabSize: 2, eol } };
  const set = (before: string, member: readonly string[], value: unknown): string =>
    applyEdits(before, modify(before, [...path, ...member], value, options));
  let after = set(text, ['url'], url);
  const name = header.toLowerCase() === 'authorization' ? header : 'Authorization';
  for (const other of headerNames(after, path))
    if (other !== name) after = set(after, ['headers', other], undefined);
  return set(after, ['headers', name], `Bearer ${key}`);
}

function headerNames(text: string, path: readonly string[]): readonly string[] {
  const document = jsonDocument(text);
  return (document && nodeAt(document, [...path, 'headers'])?.children)?.map(nameOf) ?? [];
}

/** Beside the file, for this user alone, under a name that nothing has yet. @returns what the name has more than the file's */
async function keepBackup(path: string, bytes: Buffer): Promise<string> {
  for (let number = 1; number <= MAX_BACKUPS; number += 1) {
    const suffix = `${BACKUP}${number === 1 ? '' : `-${number}`}`;
    try {
      await using backup = await open(path + suffix, 'wx', 0o600);
      await backup.writeFile(bytes);
      await backup.sync();
      return suffix;
    } catch (error) {
      if (systemCode(error) !== 'EEXIST')
        throw failed(`${path + suffix} cannot be written: ${systemReason(error)}`, error);
    }
  }
  throw failed(`${path} has ${MAX_BACKUPS} backups: delete those that you do not need`);
}
