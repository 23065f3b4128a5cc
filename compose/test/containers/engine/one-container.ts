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
  /** Another container whose network it shares; one of its own unless given. */
  readonly networkOf?: Machine;
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
  const { image, command, entrypoint, env = {}, user, volumesFrom, healthIntervalMs } = options;
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
    HostConfig: {
      ReadonlyRootfs: options.writable !== true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Tmpfs: { '/tmp': 'rw,noexec,nosuid,nodev,size=64m,mode=1777' },
      ...(volumesFrom && { VolumesFrom: [volumesFrom.id] }),
      ...(options.binds && { Binds: [...options.binds] }),
      NetworkMode: options.networkOf === undefined ? 'bridge' : `container:${options.networkOf.id}`,
    },
  });
  await container.start();
  return {
    ...(await machine(container.id)),
    terminate: () => container.kill({ signal: 'SIGTERM' }),
    ended: async () => ((await container.wait()) as { StatusCode: number }).StatusCode,
    remove: () => container.remove({ force: true, v: true }),
  };
}

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
