import { spawnSync } from 'node:child_process';

/*
 * How large the images are that were built, and what fills them:
 *   node compose/scripts/image-sizes.ts
 */

const BASE = 'node:24-bookworm-slim';
const IMAGES = ['control-plane', 'webhook', 'setup'].map((name) => `svault-${name}:0.1.0`);
const SHOWN = 8;
const MEGABYTE = 1_000_000;

function docker(...words: string[]): string {
  const { status, stdout, stderr } = spawnSync('docker', words, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`docker ${words[0]} exited with ${status}: ${stderr}`);
  return stdout;
}

const megabytes = (bytes: number): string => `${(bytes / MEGABYTE).toFixed(1).padStart(6)} MB`;
const sizeOf = (image: string): number => Number(docker('image', 'inspect', '-f', '{{.Size}}', image));

/** Folders below /svault with the bytes of the files in them, the packages each by itself. */
function contents(image: string): readonly (readonly [name: string, bytes: number])[] {
  const find = String.raw`find /svault -type f -printf '%s %P\n'`;
  const lines = docker('run', '--rm', '--network', 'none', '--entrypoint', 'sh', image, '-c', find);
  const bytes = new Map<string, number>();
  for (const line of lines.trim().split('\n')) {
    const [, size, path = ''] = /^(\d+) (.*)$/.exec(line) ?? [];
    const name = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path.split('/')[0] ?? path;
    bytes.set(name, (bytes.get(name) ?? 0) + Number(size));
  }
  return [...bytes].toSorted(([, one], [, two]) => two - one);
}

const base = sizeOf(BASE);
for (const image of IMAGES) {
  const whole = sizeOf(image);
  const parts = contents(image);
  const rest = parts.slice(SHOWN).reduce((sum, [, size]) => sum + size, 0);
  const rows = [...parts.slice(0, SHOWN), [`${parts.length - SHOWN} others`, rest] as const];
  process.stdout.write(`${megabytes(whole)}  ${image}
${megabytes(base)}    ${BASE}
${rows.map(([name, size]) => `${megabytes(size)}    ${name}\n`).join('')}`);
}
