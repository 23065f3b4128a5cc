import { ENV_FILE, composeProject, projectPaths } from '@svault/compose/webhook-project/compose-project';
import { madeSecrets, privateFolders, secretPaths } from '@svault/compose/webhook-project/project-secrets';
import type { TunnelMethod } from '@svault/compose/webhook-project/tunnel-methods';
import { randomBytes } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { usage } from '../../failure.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { printDone } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { type Project, currentUser, projectIn } from '../../webhook-project/project-folder.ts';
import { readPairs } from '../../webhook-project/project-settings.ts';
import { writeProject } from '../../webhook-project/write-project.ts';
import { chooseMethod, gatherAnswers, gatherSecret } from './project-answers.ts';

interface Options {
  readonly method?: TunnelMethod;
  readonly set?: readonly string[];
  readonly force?: true;
}

/** Where root writes a project, its containers still run as an unprivileged user. */
const OWNER_FOR_ROOT = { uid: 10_001, gid: 10_001 };
const NAME_BYTES = 4;

/** `webhook init`: a compose project in a folder. */
export const initWebhook: Run<[folder: string], Options> = async (invocation, [name], options) => {
  const { flags, signal } = invocation;
  const folder = resolve(name);
  const { uid, gid } = currentUser();
  const before = await projectIn(folder);
  if (before !== undefined) mustFit(before, options);
  const method = before?.method ?? (await chooseMethod(invocation, options.method));
  const there = await existing(folder, [...projectPaths(method), ...secretPaths(method)]);
  if (before === undefined) nothingInTheWay(folder, method, there, options);

  const given = readPairs(method, options.set ?? []);
  const asked = { method, given, before, there };
  const answers = await gatherAnswers(invocation, asked);
  const tunnelSecret = await gatherSecret(invocation, asked);

  const owner = uid === 0 ? OWNER_FOR_ROOT : { uid, gid };
  const projectName = `svault-webhook-${randomBytes(NAME_BYTES).toString('hex')}`;
  const files = composeProject(method, { ...answers, owner, projectName }).filter(
    ({ path }) => path !== ENV_FILE || !there.has(path),
  );
  const secrets = [...madeSecrets(), ...tunnelSecret].filter(({ path }) => !there.has(path));
  const paths = [...files, ...secrets].map(({ path }) => path);
  if (flags.dryRun === true) return say(invocation, `would write to ${folder}: ${paths.join(', ')}`);
  const giveTo = uid === 0 ? owner : undefined;
  const project = { folder, files, secrets, privateFolders: privateFolders(method), giveTo };
  await writeProject(project, { replacing: options.force === true, signal });
  const { webhookUrl, serviceUrl } = answers;
  const answer = { folder, method, webhookUrl, serviceUrl, files: paths };
  printDone(invocation, { said: `wrote ${paths.join(', ')} to ${folder}`, answer, name: folder });
  sayNext(invocation, folder);
};

function mustFit({ method, folder }: Project, { method: wanted, force }: Options): void {
  if (force !== true)
    throw usage(`a project is in ${folder}: --force overwrites its files; its secrets and ${ENV_FILE} stay`);
  if (wanted !== undefined && wanted !== method)
    throw usage(`the project in ${folder} uses ${method}; make one with ${wanted} in another folder`);
}

function nothingInTheWay(
  folder: string,
  method: TunnelMethod,
  there: ReadonlySet<string>,
  { force }: Options,
): void {
  const inTheWay = projectPaths(method).filter((path) => there.has(path));
  if (inTheWay.length === 0) return;
  if (force !== true)
    throw usage(
      `${inTheWay.join(', ')} in ${folder} would be written over: choose another folder, or --force`,
    );
  if (there.has(ENV_FILE))
    throw usage(`${join(folder, ENV_FILE)} was not written by svault and is not overwritten: move it away`);
}

async function existing(folder: string, paths: readonly string[]): Promise<ReadonlySet<string>> {
  const there = new Set<string>();
  for (const path of paths)
    if ((await lstat(join(folder, path)).catch(() => undefined)) !== undefined) there.add(path);
  return there;
}

function sayNext(invocation: Invocation, folder: string): void {
  say(
    invocation,
    `who could see what passes, and what is to be done before the first start: ${join(folder, 'README.md')}`,
  );
  say(invocation, 'keep a copy of secrets/master.key in another place: without it the credentials are lost');
  say(invocation, `next: svault webhook up ${folder}`);
}
