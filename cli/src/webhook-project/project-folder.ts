import { COMPOSE_FILE, ENV_FILE } from '@svault/compose/webhook-project/compose-project';
import { readEnvFile } from '@svault/compose/webhook-project/env-file';
import { TUNNEL_METHODS, type TunnelMethod } from '@svault/compose/webhook-project/tunnel-methods';
import type { Stats } from 'node:fs';
import { lstat, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { getegid, geteuid } from 'node:process';
import { usage } from '../failure.ts';

/** A project that `init` wrote. */
export interface Project {
  readonly folder: string;
  readonly method: TunnelMethod;
  readonly values: ReadonlyMap<string, string>;
}

/** Numbers of this process's user; without a look into the list of users, since those of containers are often in none. */
export const currentUser = (): { readonly uid: number; readonly gid: number } => ({
  uid: geteuid?.() ?? 0,
  gid: getegid?.() ?? 0,
});

const MAX_ENV_CHARACTERS = 64 * 1_024;
/** Compose adds what these say to compose.yaml, unasked. */
const OVERRIDES = ['compose.override', 'docker-compose.override'].flatMap((name) => [
  `${name}.yaml`,
  `${name}.yml`,
]);

/**
 * The project in a folder.
 * @returns undefined where none is
 * @throws Failure usage for a project that another user wrote or can change; it is not run
 */
export async function projectIn(folder: string): Promise<Project | undefined> {
  for (const name of [COMPOSE_FILE, ENV_FILE]) {
    const about = await lstat(join(folder, name)).catch(() => undefined);
    if (about === undefined || !about.isFile()) return undefined;
    mustNotBeOfOthers(join(folder, name), about);
  }
  for (const path of [folder, ...OVERRIDES.map((name) => join(folder, name))]) {
    const about = await stat(path).catch(() => undefined);
    if (about !== undefined) mustNotBeOfOthers(path, about);
  }
  const text = await readFile(join(folder, ENV_FILE), 'utf8');
  if (text.length > MAX_ENV_CHARACTERS) return undefined;
  const values = readEnvFile(text);
  const method = TUNNEL_METHODS.find((each) => each === values.get('SVAULT_TUNNEL'));
  return method === undefined ? undefined : { folder, method, values };
}

/** @throws Failure usage where no project is */
export async function requireProject(folder: string): Promise<Project> {
  const project = await projectIn(folder);
  if (project !== undefined) return project;
  throw usage(
    `there is no webhook project in ${folder}: name the folder that has one, or write one with svault webhook init`,
  );
}

const WRITABLE_BY_OTHERS = 0o022;

/**
 * Compose runs the project with all rights on this machine, so only this user and root may have written it or may change it.
 * @throws Failure usage that says what is wrong with it
 */
export function mustNotBeOfOthers(path: string, { uid, mode }: Pick<Stats, 'uid' | 'mode'>): void {
  const me = geteuid?.() ?? 0;
  const isOfOthers = uid !== me && uid !== 0 && me !== 0;
  if (isOfOthers || (mode & WRITABLE_BY_OTHERS) !== 0)
    throw usage(
      `${path} belongs to another user or can be changed by others${isOfOthers ? '' : ` (chmod go-w ${path})`}; it is not used`,
    );
}
