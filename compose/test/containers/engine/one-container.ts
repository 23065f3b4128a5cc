import { getContainerRuntimeClient } from 'testcontainers';
import { type Machine, type Ran, machine } from './machine.ts';

export interface OneContainer {
  readonly image: string;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** `UID:GID`; the image's own unless given. */
  readonly user?: string;
  /** Its volumes are those of this one; new ones unless given. */
  readonly volumesFrom?: Machine;
  /** Its health is asked for so often, and said at the first answer. */
  readonly healthIntervalMs?: number;
  /** `PATH:PATH:ro` of this machine. */
  readonly binds?: readonly string[];
  /** Nothing is kept from being written but by modes. */
  readonly writable?: boolean;
  /** Those that it has, which is none unless given. */
  readonly capabilities?: readonly string[];
  /** The engine's own network unless given: another one, or that of another container, which it shares. */
  readonly network?: { readonly name: string; readonly alias: string } | Machine;
  /** Ports of the container, and those of 127.0.0.1 that lead to them: 0 for a free one. */
  readonly ports?: Readonly<Record<number, number>>;
  /** It comes back after a crash, as what a compose file of ours starts does. */
  readonly comesBack?: boolean;
}

/** A container that runs, and what erases it with its volumes. */
export interface Running extends Machine {
  /** Sends SIGTERM and does not wait. */
  terminate(): Promise<void>;
  /** @returns the exit code */
  ended(): Promise<number>;
  remove(): Promise<void>;
}

/** Starts an image as an operator should: read-only, without capabilities, with a /tmp from which nothing runs. */
export async function runContainer(options: OneContainer): Promise<Running> {
  const { image, command, entrypoint, env = {}, user, volumesFrom, healthIntervalMs, network } = options;
  const ports = Object.entries(options.ports ?? {});
  const { dockerode } = (await getContainerRuntimeClient()).container;
  const container = await dockerode.createContainer({
    Image: image,
    ...(command && { Cmd: [...command] }),
    ...(entrypoint && { Entrypoint: [...entrypoint] }),
    ...(user !== undefined && { User: user }),
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    ...(healthIntervalMs !== undefined && {
      Healthcheck: { Interval: healthIntervalMs * 1_000_000, Retries: 1 },
    }),
    ExposedPorts: Object.fromEntries(ports.map(([inside]) => [`${inside}/tcp`, {}])),
    ...(network &&
      'alias' in network && {
        NetworkingConfig: { EndpointsConfig: { [network.name]: { Aliases: [network.alias] } } },
      }),
    HostConfig: {
      ReadonlyRootfs: options.writable !== true,
      CapDrop: ['ALL'],
      CapAdd: [...(options.capabilities ?? [])],
      SecurityOpt: ['no-new-privileges'],
      Tmpfs: { '/tmp': 'rw,noexec,nosuid,nodev,size=64m,mode=1777' },
      ...(volumesFrom && { VolumesFrom: [volumesFrom.id] }),
      ...(options.binds && { Binds: [...options.binds] }),
      NetworkMode: networkMode(network),
      PortBindings: Object.fromEntries(
        ports.map(([inside, port]) => [`${inside}/tcp`, [{ HostIp: '127.0.0.1', HostPort: String(port) }]]),
      ),
      RestartPolicy: { Name: options.comesBack === true ? 'unless-stopped' : 'no' },
    },
  });
  const remove = (): Promise<void> => container.remove({ force: true, v: true });
  try {
    await container.start();
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    ...(await machine(container.id)),
    terminate: () => container.kill({ signal: 'SIGTERM' }),
    ended: async () => ((await container.wait()) as { StatusCode: number }).StatusCode,
    remove,
  };
}

function networkMode(network: OneContainer['network']): string {
  if (network === undefined) return 'bridge';
  return 'alias' in network ? network.name : `container:${network.id}`;
}

/** `UID:GID` of who runs the tests, and may read the files that they make. */
export const OWN_USER = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;

/** Runs one to its end. */
export async function runToEnd(options: OneContainer): Promise<Ran> {
  const running = await runContainer(options);
  try {
    return { exitCode: await running.ended(), output: await running.logs() };
  } finally {
    await running.remove();
  }
}

/** What the engine knows of an image. */
export async function imageOf(name: string) {
  const { dockerode } = (await getContainerRuntimeClient()).container;
  const image = dockerode.getImage(name);
  return { ...(await image.inspect()), History: JSON.stringify(await image.history()) };
}
