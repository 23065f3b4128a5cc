import manifest from '../../../package.json' with { type: 'json' };
import type { WebhookView } from '../../webhook-direct/webhook-view.ts';

interface Release {
  readonly program: string;
  readonly version: string;
  readonly major: number;
  readonly minor: number;
}

/** What runs, and what is outside of the support window (docs/operate/upgrades.md). */
export interface RunningVersions {
  readonly found: string;
  /** What to upgrade, in the order in which to do it; empty inside of the window. */
  readonly toUpgrade: readonly string[];
}

/**
 * Compares the versions of the client, the control plane and its webhook. Two of them may be one minor version apart.
 * Those of other authors' webhooks are compared with nothing.
 */
export function compareVersions(
  { controlPlaneVersion, version }: Pick<WebhookView, 'controlPlaneVersion' | 'version'>,
  client: string = manifest.version,
): RunningVersions {
  const releases = [
    releaseOf('webhook', version?.startsWith(OURS) === true ? version.slice(OURS.length) : undefined),
    releaseOf('control plane', controlPlaneVersion),
    releaseOf('svault', client),
  ].filter((release) => release !== undefined);
  const newest = releases.toSorted((a, b) => b.major - a.major || b.minor - a.minor)[0];
  const behind = releases.filter(
    ({ major, minor }) => newest !== undefined && (major < newest.major || minor < newest.minor - 1),
  );
  return {
    found: releases.map(titleOf).toReversed().join(', '),
    toUpgrade: behind.map(({ program }) => (program === 'svault' ? program : `the ${program}`)),
  };
}

/** How svault's own webhook begins what it says of its version. */
const OURS = 'svault/';

function releaseOf(program: string, version: string | undefined): Release | undefined {
  const [, major, minor] = /^(\d{1,6})\.(\d{1,6})\.\d{1,6}(?:-[\w.]{1,20})?$/.exec(version ?? '') ?? [];
  if (version === undefined || major === undefined || minor === undefined) return undefined;
  return { program, version, major: Number(major), minor: Number(minor) };
}

const titleOf = ({ program, version }: Release): string => `${program} ${version}`;
