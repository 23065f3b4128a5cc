import { composeFile } from './compose-file.ts';
import { type ProjectValues, envFile, isBuilt } from './env-file.ts';
import { makeSecretsScript } from './make-secrets.ts';
import type { ProjectFile } from './project-file.ts';
import { privateFolders } from './project-secrets.ts';
import { readmeFile } from './readme.ts';
import type { TunnelMethod } from './tunnel-methods.ts';
import { TUNNELS } from './tunnels/tunnels.ts';

export const COMPOSE_FILE = 'compose.yaml';
export const ENV_FILE = '.env';

const README_FILE = 'README.md';
const IGNORE_FILE = '.gitignore';

/** All files of a project but its secrets, as `svault webhook init` writes them. */
export function composeProject(method: TunnelMethod, values: ProjectValues): readonly ProjectFile[] {
  const build = isBuilt(values) ? 'checkout' : 'nowhere';
  return [
    { path: COMPOSE_FILE, text: composeFile(method, 'init', build) },
    { path: ENV_FILE, text: envFile(method, values) },
    { path: README_FILE, text: readmeFile(method, values) },
    { path: IGNORE_FILE, text: unshared(method).join('') },
    ...(TUNNELS[method].files ?? []),
  ];
}

/** Where they are. */
export const projectPaths = (method: TunnelMethod): readonly string[] =>
  composeProject(method, exampleFor(method)).map(({ path }) => path);

const exampleFor = (method: TunnelMethod): ProjectValues => ({
  webhookUrl: method === 'tailscale' ? 'https://vault.tail1234.ts.net' : 'https://vault.example.org',
  serviceUrl: 'https://svault.example.org',
  projectName: 'svault-webhook',
  owner: { uid: 1_000, gid: 1_000 },
  more: {},
});

/** The same for those who deploy without the client: with examples for what `init` asks, and a script that makes the secrets. */
export function repositoryProject(method: TunnelMethod): readonly ProjectFile[] {
  const values = exampleFor(method);
  return [
    { path: COMPOSE_FILE, text: composeFile(method, 'repository', 'here') },
    { path: '.env.example', text: envFile(method, values, 'repository') },
    { path: README_FILE, text: readmeFile(method, values, 'repository') },
    { path: IGNORE_FILE, text: ['/.env\n', ...unshared(method)].join('') },
    { path: 'make-secrets.sh', text: makeSecretsScript(method) },
    ...(TUNNELS[method].files ?? []),
  ];
}

const unshared = (method: TunnelMethod): string[] => privateFolders(method).map((folder) => `/${folder}/\n`);
