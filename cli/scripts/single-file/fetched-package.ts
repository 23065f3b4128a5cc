import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NodeBinary, Target } from './targets.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache/svault-single-file');

/** What a package of npm has, unpacked. */
export interface FetchedPackage {
  readonly folder: string;
  /** The file that is asked for, below `folder`. */
  readonly file: string;
}

/**
 * A Node of another platform or version. @throws Error where the binary is not the one that is known */
export function fetchNode({ package: name, version, sha256 }: NodeBinary): FetchedPackage {
  const folder = fetchPackage(name, version);
  const file = join(folder, 'bin/node');
  if (sha256Of(file) !== sha256)
    throw new Error(`bin/node of ${name} ${version} is not the one whose SHA-256 is in targets.ts`);
  return { folder, file };
}

/** The keychain's native addon, of the version and with the checksum of the workspace's lock file. @throws Error */
export function fetchKeyring({ keyring, platform, arch }: Target): FetchedPackage {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; integrity: string } | undefined>;
  };
  const locked = lock.packages[`node_modules/${keyring}`];
  if (locked === undefined) throw new Error(`package-lock.json has no ${keyring}`);
  const folder = fetchPackage(keyring, locked.version, locked.integrity);
  const libc = platform === 'linux' ? '-gnu' : '';
  return { folder, file: join(folder, `keyring.${platform}-${arch}${libc}.node`) };
}

/** @param integrity as in a lock file; npm compares it with what the registry says in any case */
function fetchPackage(name: string, version: string, integrity?: string): string {
  const folder = join(CACHE, `${name.replace('/', '-')}-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const work = mkdtempSync(join(CACHE, '.fetching-'));
  try {
    const [packed] = JSON.parse(
      execFileSync('npm', ['pack', `${name}@${version}`, '--json', '--pack-destination', work], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    ) as { filename: string }[];
    if (packed === undefined) throw new Error(`npm has no ${name} ${version}`);
    const tarball = join(work, packed.filename);
    if (integrity !== undefined && integrityOf(tarball) !== integrity)
      throw new Error(`${name} ${version} is not what package-lock.json has`);
    execFileSync('tar', ['-xzf', tarball, '-C', work]);
    renameSync(join(work, 'package'), folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}

const integrityOf = (file: string): string =>
  `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;

/** Hexadecimal. */
const sha256Of = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');
