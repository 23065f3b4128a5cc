import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProgramName } from '../../src/program-process.ts';
import { COMPOSE } from '../deployment.ts';
import type { Container, PodSpec } from './pod-security.ts';
import { helm } from './tools.ts';
import { parseAllDocuments } from 'yaml';

/** A container as the templates write it. */
interface RenderedContainer extends Container {
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports?: readonly {
    readonly name: string;
    readonly containerPort: number;
    readonly hostPort?: number;
  }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface Pod {
  readonly spec: Omit<PodSpec, 'containers'> & {
    readonly automountServiceAccountToken: boolean;
    readonly enableServiceLinks: boolean;
    readonly terminationGracePeriodSeconds?: number;
    readonly containers: readonly RenderedContainer[];
  };
}

/** A manifest that a chart makes. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: Readonly<Record<string, unknown>>;
}

export type Values = Readonly<Record<string, unknown>>;

export const chartOf = (program: ProgramName): string => join(COMPOSE, 'helm', `svault-${program}`);

export const readChart = (program: ProgramName, file: string): string =>
  readFileSync(join(chartOf(program), file), 'utf8');

/** Who may connect, which every installation says. */
const FROM_INGRESS = {
  ingressFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
};

/** What an installation has to say, and no more. */
export const MINIMAL: Readonly<Record<ProgramName, Values>> = {
  'control-plane': { baseUrl: 'https://svault.example.org', networkPolicy: FROM_INGRESS },
  webhook: {
    url: 'https://vault.example.org',
    serviceUrl: 'https://svault.example.org',
    networkPolicy: FROM_INGRESS,
  },
};

/** Of both charts. */
const EVERYTHING = {
  image: { digest: `sha256:${'0'.repeat(64)}`, pullPolicy: 'Always' },
  imagePullSecrets: ['registry'],
  drainSeconds: 30,
  settings: { SV_LOG_LEVEL: 'warn', SV_EGRESS_ALLOW: '10.1.0.0/16,upstream.internal' },
  ingress: {
    enabled: true,
    className: 'public',
    annotations: { 'example.org/body': '8m' },
    tlsSecret: 'tls',
  },
  networkPolicy: {
    ...FROM_INGRESS,
    metricsFrom: [{ podSelector: { matchLabels: { app: 'prometheus' } } }],
    extraEgress: [{ to: [{ ipBlock: { cidr: '10.1.0.0/16' } }], ports: [{ protocol: 'TCP', port: 8443 }] }],
  },
  metrics: { enabled: true, serviceMonitor: { enabled: true, labels: { release: 'prometheus' } } },
  caCertificates: { configMap: 'authorities' },
  serviceAccount: { annotations: { 'example.org/role': 'svault' } },
  podAnnotations: { 'example.org/a': 'b' },
  podLabels: { team: 'platform' },
  nodeSelector: { 'kubernetes.io/arch': 'amd64' },
  tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }],
  priorityClassName: 'important',
  extraVolumes: [{ name: 'geoip', persistentVolumeClaim: { claimName: 'geoip' } }],
  extraVolumeMounts: [{ name: 'geoip', mountPath: '/var/lib/geoip', readOnly: true }],
};

const gateway = {
  httpRoute: { enabled: true, parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }] },
};

const secret = (key: string) => ({ secret: 'svault', key });

/** What the tests install, by the program and a name. */
export const SCENARIOS: readonly (readonly [ProgramName, string, Values])[] = [
  ['control-plane', 'minimal', MINIMAL['control-plane']],
  ['control-plane', 'gateway', { ...MINIMAL['control-plane'], ...gateway }],
  [
    'control-plane',
    'everything',
    {
      ...MINIMAL['control-plane'],
      ...EVERYTHING,
      replicas: 5,
      trustedProxies: ['10.244.0.0/16', 'fd00::/8'],
      secretFiles: {
        SV_DATABASE_URL: { secret: 'postgres-app', key: 'uri' },
        SV_MASTER_KEY_NEXT: secret('next'),
        SV_BOOTSTRAP_ADMIN_KEY: secret('admin.key'),
        SV_OIDC_CLIENT_SECRET: secret('oidc'),
        SV_SMTP_URL: secret('smtp'),
      },
      settings: {
        ...EVERYTHING.settings,
        SV_AUDIT_RETENTION_DAYS: 3650,
        SV_LIMIT_MANAGEMENT_WRITE: 2_000_000,
        SV_OIDC_ISSUER: 'https://id.example.org',
        SV_OIDC_CLIENT_ID: 'svault',
        SV_SMTP_FROM: 'svault@example.org',
      },
    },
  ],
  [
    'control-plane',
    'one replica without Valkey',
    { ...MINIMAL['control-plane'], replicas: 1, secretFiles: { SV_REDIS_URL: null } },
  ],
  ['webhook', 'minimal', MINIMAL.webhook],
  ['webhook', 'gateway', { ...MINIMAL.webhook, ...gateway, backup: { enabled: false } }],
  [
    'webhook',
    'everything',
    {
      ...MINIMAL.webhook,
      ...EVERYTHING,
      secretFiles: { SV_WEBHOOK_MASTER_KEY_NEXT: secret('next'), SV_WEBHOOK_SETUP_TOKEN: secret('token') },
      persistence: { storageClass: 'fast', size: '2Gi' },
      backup: { schedule: '0 * * * *', keepDays: 3, persistence: { existingClaim: 'backups' } },
    },
  ],
  [
    'webhook',
    'passphrase and no network policy',
    {
      ...MINIMAL.webhook,
      networkPolicy: { enabled: false },
      secretFiles: { SV_WEBHOOK_MASTER_KEY: null, SV_WEBHOOK_PASSPHRASE: secret('passphrase') },
    },
  ],
];

/**
 * Renders a chart with values.
 * @param folder receives both
 * @returns the file of the manifests, and they
 * @throws Error with what helm says
 */
export async function render(program: ProgramName, values: Values, folder: string) {
  const given = join(folder, 'values.json');
  writeFileSync(given, JSON.stringify(values));
  const { code, stdout, stderr } = await helm('template', 'svault', chartOf(program), '--values', given);
  if (code !== 0) throw new Error(stderr);
  const file = join(folder, 'manifests.yaml');
  writeFileSync(file, stdout);
  const manifests = parseAllDocuments(stdout)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
  return { file, manifests };
}

/** The pods that manifests lead to, by the kind that makes them. */
export function podsOf(manifests: readonly Manifest[]): Readonly<Record<string, Pod>> {
  const pods = manifests.flatMap((manifest) => {
    const { kind, spec } = manifest;
    if (kind === 'Pod') return [[kind, manifest as unknown as Pod] as const];
    const job = spec?.['jobTemplate'] as { readonly spec: { readonly template: Pod } } | undefined;
    const template = job?.spec.template ?? (spec?.['template'] as Pod | undefined);
    return template === undefined ? [] : [[kind, template] as const];
  });
  return Object.fromEntries(pods);
}
