import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { checksumsOf, differences } from './checksums.ts';

/** By their Dockerfiles in `compose/`. */
export const IMAGE_NAMES = ['control-plane', 'webhook', 'setup'] as const;
type ImageName = (typeof IMAGE_NAMES)[number];

/** A layer of an image: its files, and all else that its archive says of an entry. */
type Entries = ReadonlyMap<string, string>;

interface SavedImage {
  /** What a container of it runs, and how. */
  readonly config: Readonly<Record<string, unknown>>;
  /** SHA-256 of the uncompressed archives of its layers, from the base up. */
  readonly diffIds: readonly string[];
  /** Their archives, in the same order. */
  readonly layers: readonly string[];
}

const docker = (...args: readonly string[]): string =>
  execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** Why no image can be built here; undefined where an engine answers. */
export function engineProblem(): string | undefined {
  const { error, status, stderr } = spawnSync('docker', ['version', '--format', '{{ .Server.Version }}'], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  return error?.message ?? (status === 0 ? undefined : stderr.trim());
}

/** Builds an image from a checkout, and nothing of it from a cache. @throws Error with the end of what the builder says */
export function buildImage(checkout: string, name: ImageName, tag: string): void {
  docker(
    'build',
    '--no-cache',
    '--quiet',
    '--file',
    join(checkout, `compose/${name}.Dockerfile`),
    '--tag',
    tag,
    checkout,
  );
}

/** Removes the name of an image, and the image where it has no other. */
export function removeImage(tag: string): void {
  docker('image', 'rm', tag);
}

interface Comparison {
  /** Files that are newer count as of this time, in seconds since 1970, as builders write them with `rewrite-timestamp`. */
  readonly newest: number;
  /** An existing folder for what the engine saves, which the caller removes. */
  readonly work: string;
}

/**
 * Builds each image from two checkouts, on the same base image.
 * @returns where the two differ, one line each
 */
export function differencesOfBuilds(
  checkouts: readonly [string, string],
  comparison: Comparison,
): readonly string[] {
  return IMAGE_NAMES.flatMap((name) => {
    const tags = ['one', 'other'].map((build) => `svault-${name}:release-${process.pid}-${build}`) as [
      string,
      string,
    ];
    const built: string[] = [];
    try {
      for (const [index, tag] of tags.entries()) {
        buildImage(checkouts[index] ?? '', name, tag);
        built.push(tag);
      }
      return imageDifferences(tags, comparison).map((line) => `image of ${name}, ${line}`);
    } finally {
      built.forEach(removeImage);
    }
  });
}

/** Where two images differ, one line each. Layers that are the same byte for byte, such as those of their base, are not read. */
export function imageDifferences(tags: readonly [string, string], comparison: Comparison): readonly string[] {
  const [one, other] = tags.map((tag, index) => save(tag, join(comparison.work, `image-${index}`))) as [
    SavedImage,
    SavedImage,
  ];
  if (one.layers.length !== other.layers.length)
    return [`${one.layers.length} layers, and ${other.layers.length}`];
  const differing = one.diffIds.flatMap((id, index) => {
    if (id === other.diffIds[index]) return [];
    const [left, right] = [one, other].map(({ layers }) => entriesOf(layers[index] ?? '', comparison)) as [
      Entries,
      Entries,
    ];
    return differences(left, right).map(
      (path) =>
        `layer ${index + 1}, ${path}: ${left.get(path) ?? 'missing'}, and ${right.get(path) ?? 'missing'}`,
    );
  });
  const settings = new Set([...Object.keys(one.config), ...Object.keys(other.config)]);
  return [
    ...[...settings]
      .filter((name) => !isDeepStrictEqual(one.config[name], other.config[name]))
      .map(
        (name) =>
          `setting ${name}: ${JSON.stringify(one.config[name])}, and ${JSON.stringify(other.config[name])}`,
      ),
    ...differing,
  ];
}

/** Unpacks what `docker save` writes, which is the same for all engines. @param folder made anew */
function save(tag: string, folder: string): SavedImage {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  docker('save', '--output', `${folder}.tar`, tag);
  execFileSync('tar', ['-xf', `${folder}.tar`, '-C', folder]);
  rmSync(`${folder}.tar`);
  const read = (path: string): unknown => JSON.parse(readFileSync(join(folder, path), 'utf8'));
  const [saved] = read('manifest.json') as { Config: string; Layers: readonly string[] }[];
  if (saved === undefined) throw new Error(`the engine saved nothing of ${tag}`);
  const { config, rootfs } = read(saved.Config) as {
    config: Record<string, unknown>;
    rootfs: { diff_ids: readonly string[] };
  };
  // The plain builder writes into it which image the last step was made from, with its time.
  const { Image: _, ...settings } = config;
  return {
    config: settings,
    diffIds: rootfs.diff_ids,
    layers: saved.Layers.map((path) => join(folder, path)),
  };
}

/** Mode with the kind, owner, size, time, and the rest: the path, and what a link leads to. */
const LISTED = /^(?<mode>\S+) (?<owner>\d+\/\d+) +(?<size>\d+) (?<day>\S+) (?<time>\S+) (?<path>.+)$/;

/** What the archive of a layer says of each entry, with the time as an exporter rewrites it, and the digest of a file's content. */
function entriesOf(layer: string, { newest, work }: Comparison): Entries {
  const format = ['--verbose', '--numeric-owner', '--full-time', '--utc', '--quoting-style=literal'];
  const listed = execFileSync('tar', ['--list', ...format, '--file', layer], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  const unpacked = join(work, 'layer');
  mkdirSync(unpacked);
  try {
    execFileSync('tar', ['-xf', layer, '-C', unpacked, '--no-same-owner']);
    // Who is not root could remove no file from a folder that nobody writes to.
    execFileSync('chmod', ['-R', 'u+rwX', unpacked]);
    const digests = checksumsOf(unpacked);
    return new Map(
      listed
        .split('\n')
        .filter(Boolean)
        .map((line) => {
          const { mode, owner, size, day, time, path } = (LISTED.exec(line)?.groups ?? {}) as Record<
            string,
            string
          >;
          if (path === undefined) throw new Error(`tar listed ${line}`);
          const seconds = Math.min(Date.parse(`${day}T${time}Z`) / 1000, newest);
          return [path, [mode, owner, size, seconds, digests.get(path)].join(' ').trimEnd()];
        }),
    );
  } finally {
    rmSync(unpacked, { recursive: true, force: true });
  }
}
