import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Programs called `docker` and `docker-compose` that do what a test says, and remember how they were called. */
export interface FakeCompose {
  /** Folder for PATH. */
  readonly path: string;
  /** Arguments of each call but that for the version, in order; then those of its environment that begin with SV. */
  calls(): readonly string[];
}

/**
 * @param script of a shell, where `$*` are compose's arguments without `--ansi never`
 * @param options.v1 there is docker-compose alone
 */
export function fakeCompose(dir: string, script: string, options: { readonly v1?: true } = {}): FakeCompose {
  const path = join(dir, 'programs');
  const log = join(dir, 'calls');
  mkdirSync(path, { recursive: true });
  const rest = `[ "$1" = version ] && exit 0
[ "$1" = --ansi ] && shift 2
echo "$*" >> '${log}'
/usr/bin/env | /usr/bin/grep -E '^(SV|COMPOSE_)' | /usr/bin/sort >> '${log}'
${script}
`;
  const program = (name: string, text: string): void => {
    writeFileSync(join(path, name), `#!/bin/sh\n${text}`);
    chmodSync(join(path, name), 0o755);
  };
  if (options.v1 === true) program('docker-compose', rest);
  else program('docker', `[ "$1" = compose ] || exit 1\nshift\n${rest}`);
  return { path, calls: () => readFileSync(log, 'utf8').trimEnd().split('\n') };
}
