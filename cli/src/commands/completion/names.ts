import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { type ApiClient, apiClient } from '../../api/api-client.ts';
import { type Resource, nameOrId, namesSchema } from '../../api/resource.ts';
import {
  ADMIN_KEY,
  AGENT,
  APPROVAL,
  FOLDER,
  MEMBER,
  NOTIFICATION,
  POLICY,
  PROVIDER,
  PROXY,
  SESSION,
} from '../../api/resources.ts';
import { actingLogin } from '../../contexts/acting-login.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { jsonIn, withQuery } from '../../json-in.ts';
import { exactLine } from '../../output/plain-line.ts';
import { privateCacheFolder } from '../../private-cache-folder.ts';
import type { NameKind } from './command-tree.ts';

/** A shell waits for it at each TAB. */
const TIMEOUT_MS = 1_000;
/** Within it the same names are offered again without a request. */
const FRESH_MS = 20_000;
/** Later than that they help nobody, where the control plane does not answer. */
const STALE_MS = 24 * 3_600_000;
const MAX_NAMES = 500;
const MAX_FILE_CHARACTERS = 256 * 1_024;

const RESOURCES: Readonly<Record<Exclude<NameKind, 'services' | 'approvals'>, Resource>> = {
  agents: AGENT,
  folders: FOLDER,
  policies: POLICY,
  proxies: PROXY,
  members: MEMBER,
  providers: PROVIDER,
  sessions: SESSION,
  notifications: NOTIFICATION,
  'admin-keys': ADMIN_KEY,
};

/**
 * `complete-names KIND`, for completion scripts: one name a line. It never waits long, renews no session and fails in
 * silence: it then offers what it offered last, or nothing.
 */
export const printNames: Run<[kind: NameKind]> = async (invocation, [kind]) => {
  const signal = AbortSignal.any([invocation.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const silent = { ...invocation, signal, terminal: { ...invocation.terminal, err: () => undefined } };
  const aborted = new Promise<readonly string[]>((resolve) => {
    signal.addEventListener('abort', () => resolve([]), { once: true });
  });
  const names = await Promise.race([aborted, namesFor(silent, kind).catch(() => [])]);
  invocation.terminal.out(names.map((name) => `${exactLine(name)}\n`).join(''));
};

async function namesFor(invocation: Invocation, kind: NameKind): Promise<readonly string[]> {
  const file = await cacheFile(invocation, kind);
  const kept = file === undefined ? undefined : await readKept(file);
  const ageMs = kept === undefined ? Infinity : Date.now() - kept.atMs;
  if (kept !== undefined && ageMs >= 0 && ageMs < FRESH_MS) return kept.names;
  try {
    const names = await askedFor(await apiClient(invocation, 'anybody', { renews: false }), kind);
    if (file !== undefined) await writeKept(file, { atMs: Date.now(), names }).catch(() => undefined);
    return names;
  } catch {
    return kept !== undefined && ageMs < STALE_MS ? kept.names : [];
  }
}

const serviceSchema = z.looseObject({ serviceName: z.string() });
const grantsSchema = z.looseObject({ grants: z.array(serviceSchema) });

async function askedFor(client: ApiClient, kind: NameKind): Promise<readonly string[]> {
  const isAgent = client.login.context.kind === 'agent';
  if (kind === 'services') {
    const items = isAgent
      ? (await client.read('/api/agents/credentials', grantsSchema)).grants
      : await client.readAll('/api/tokens', serviceSchema, MAX_NAMES);
    return items.map(({ serviceName }) => serviceName);
  }
  if (isAgent) return [];
  if (kind === 'approvals') {
    const path = withQuery(APPROVAL.path, { status: 'pending' });
    return (await client.readAll(path, z.looseObject({ id: z.string() }), MAX_NAMES)).map(({ id }) => id);
  }
  const { [kind]: resource } = RESOURCES;
  const items = await client.readAll(resource.path, namesSchema(resource), MAX_NAMES);
  // Sessions of one browser have one name.
  return kind === 'sessions' ? items.map(({ id }) => id) : items.map(nameOrId(items));
}

const keptSchema = z.object({ atMs: z.number(), names: z.array(z.string()) });
type Kept = z.infer<typeof keptSchema>;

/** @returns undefined where there is no folder that is this user's alone */
async function cacheFile(invocation: Invocation, kind: NameKind): Promise<string | undefined> {
  const folder = privateCacheFolder(invocation.env, 'names');
  if (folder === undefined) return undefined;
  const login = await actingLogin(invocation);
  const { hash } = await import('node:crypto');
  const of = [await login.rememberedAs(), login.context.baseUrl, kind].join(' ');
  return join(folder, `${hash('sha256', of, 'base64url')}.json`);
}

async function readKept(file: string): Promise<Kept | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.length > MAX_FILE_CHARACTERS ? undefined : keptSchema.safeParse(jsonIn(text)).data;
}

async function writeKept(file: string, kept: { atMs: number; names: readonly string[] }): Promise<void> {
  const next = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(next, JSON.stringify(kept), { flag: 'wx', mode: 0o600 });
  await rename(next, file);
}
