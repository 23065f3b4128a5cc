import { composeFile } from './compose-file.ts';
import { type ProjectValues, envFile } from './env-file.ts';
import type { ProjectFile } from './project-file.ts';
import { privateFolders } from './project-secrets.ts';
import { readmeFile } from './readme.ts';
import type { TunnelMethod } from './tunnel-methods.ts';
import { TUNNELS } from './tunnels/tunnels.ts';

export const COMPOSE_FILE = 'compose.yaml';
export const ENV_FILE = '.env';

const README_FILE = 'README.md';
const IGNORE_FILE = '.gitignore';

/** All files of a project but its secrets. */
export function composeProject(method: TunnelMethod, values: ProjectValues): readonly ProjectFile[] {
  const { files = [] } = TUNNELS[method];
  const unshared = privateFolders(method)
    .map((folder) => `/${folder}/\n`)
    .join('');
  return [
    { path: COMPOSE_FILE, text: composeFile(method) },
    { path: ENV_FILE, text: envFile(method, values) },
    { path: README_FILE, text: readmeFile(method, values) },
    { path: IGNORE_FILE, text: unshared },
    ...files,
  ];
}

/** Where they are. */
export const projectPaths = (method: TunnelMethod): readonly string[] => [
  COMPOSE_FILE,
  ENV_FILE,
  README_FILE,
  IGNORE_FILE,
  ...(TUNNELS[method].files ?? []).map(({ path }) => path),
];
