/** What a container says of its security, and what else the standard looks at. */
export interface Container {
  readonly name: string;
  readonly securityContext?: {
    readonly allowPrivilegeEscalation?: boolean;
    readonly privileged?: boolean;
    readonly runAsNonRoot?: boolean;
    readonly runAsUser?: number;
    readonly procMount?: string;
    readonly seccompProfile?: { readonly type: string };
    readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
  };
  readonly ports?: readonly { readonly hostPort?: number }[];
}

/** The part of a pod's specification that the standard is about. */
export interface PodSpec {
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly securityContext?: {
    readonly runAsNonRoot?: boolean;
    readonly runAsUser?: number;
    readonly seccompProfile?: { readonly type: string };
    readonly sysctls?: readonly unknown[];
    readonly seLinuxOptions?: unknown;
    readonly windowsOptions?: unknown;
  };
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Readonly<Record<string, unknown>>[];
}

const VOLUMES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
];
const SECCOMP = ['RuntimeDefault', 'Localhost'];

/**
 * What the Pod Security Standard "restricted" forbids of a pod, stricter where that allows a list that these charts do not need.
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/
 * @returns a line for each violation
 */
export function violationsOf(pod: PodSpec): readonly string[] {
  const { securityContext: ofPod = {}, volumes = [] } = pod;
  const rules: readonly (readonly [string, boolean])[] = [
    ['host namespaces', pod.hostNetwork === true || pod.hostPID === true || pod.hostIPC === true],
    ['sysctls', (ofPod.sysctls ?? []).length > 0],
    ['SELinux options', ofPod.seLinuxOptions !== undefined],
    ['host process', ofPod.windowsOptions !== undefined],
    ...volumes.map(
      (volume) =>
        [
          `volume ${String(volume['name'])}`,
          Object.keys(volume).some((key) => key !== 'name' && !VOLUMES.includes(key)),
        ] as const,
    ),
    ...[...pod.containers, ...(pod.initContainers ?? [])].flatMap((container) =>
      ofContainer(container, ofPod),
    ),
  ];
  return rules.filter(([, isViolated]) => isViolated).map(([rule]) => rule);
}

function ofContainer(
  { name, securityContext: own = {}, ports = [] }: Container,
  ofPod: NonNullable<PodSpec['securityContext']>,
): readonly (readonly [string, boolean])[] {
  const seccomp = (own.seccompProfile ?? ofPod.seccompProfile)?.type ?? '';
  const user = own.runAsUser ?? ofPod.runAsUser;
  return [
    [`${name}: privileged`, own.privileged === true],
    [`${name}: privilege escalation`, own.allowPrivilegeEscalation !== false],
    [`${name}: capabilities kept`, own.capabilities?.drop?.includes('ALL') !== true],
    [`${name}: capabilities added`, (own.capabilities?.add ?? []).length > 0],
    [`${name}: may run as root`, (own.runAsNonRoot ?? ofPod.runAsNonRoot) !== true || user === 0],
    [`${name}: seccomp profile`, !SECCOMP.includes(seccomp)],
    [`${name}: proc mount`, own.procMount !== undefined],
    [`${name}: host port`, ports.some(({ hostPort }) => hostPort !== undefined)],
  ];
}
