/** The charts on a real API server, in a namespace that takes no pod but a restricted one. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Finished, run } from '@svault/test-kit/run-program';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ProgramName } from '../../src/program-process.ts';
import { COMPOSE } from '../deployment.ts';
import { type ApiServer, NO_API_SERVER, hasApiServer, hasControllers, startApiServer } from './api-server.ts';
import { MINIMAL, type Pod, SCENARIOS, type Values, chartOf, podsOf } from './charts.ts';
import { definitionFiles, helm, kubectl, kubectlFolder } from './tools.ts';

const WITHOUT = hasApiServer ? '' : ` (${NO_API_SERVER})`;
const WITHOUT_CONTROLLERS = hasControllers ? '' : ' (needs kube-controller-manager in KUBEBUILDER_ASSETS)';
const RELEASE = 'svault';
const KINDS = [
  ...['serviceaccounts', 'services', 'persistentvolumeclaims', 'deployments', 'statefulsets', 'cronjobs'],
  ...['ingresses', 'networkpolicies', 'poddisruptionbudgets', 'httproutes', 'servicemonitors'],
].join(',');

/** A volume that a claim of its class gets, and the class. */
const GROWING_VOLUME = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'growing' },
      provisioner: 'example.org/none',
      allowVolumeExpansion: true,
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'growing' },
      spec: {
        storageClassName: 'growing',
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        csi: { driver: 'example.org', volumeHandle: 'growing' },
      },
    },
  ],
};

const dir = tempDir();
afterAll(() => dir.remove());

interface Stored {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels: Readonly<Record<string, string>>;
    /** One more after each change of the specification. */
    readonly generation: number | undefined;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}
type Objects = Readonly<Record<string, Stored>>;

describe.skipIf(!hasApiServer)(`on an API server${WITHOUT}`, () => {
  let server: ApiServer;
  beforeAll(async () => {
    server = await startApiServer(dir.path);
    for (const file of await definitionFiles()) await kube('apply', '--server-side', '--filename', file);
    await kube('wait', '--for=condition=Established', '--all', 'customresourcedefinitions');
    await kube('create', 'priorityclass', 'important', '--value=1000');
  });
  afterAll(() => server?.stop());

  async function kube(...words: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await kubectl('--kubeconfig', server.kubeconfig, ...words);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  }

  /** A namespace of a test's own, and helm and kubectl in it. */
  async function namespaceOf(name: string, release = RELEASE) {
    await kube('create', 'namespace', name);
    await kube('label', 'namespace', name, 'pod-security.kubernetes.io/enforce=restricted');
    const folder = join(dir.path, name);
    mkdirSync(folder);
    const at = ['--kubeconfig', server.kubeconfig, '--namespace', name];
    const inNamespace = async (...words: readonly string[]): Promise<Finished> => {
      const finished = await helm(...words, ...at);
      if (finished.code !== 0) throw new Error(finished.stderr);
      // Warnings of the API server would be there.
      expect(finished.stderr).toBe('');
      return finished;
    };
    return {
      helm: inNamespace,
      /** Installs, or upgrades to, a chart with values. */
      apply: (chart: string, values: Values, ...options: readonly string[]) => {
        const given = join(folder, 'values.json');
        writeFileSync(given, JSON.stringify(values));
        return inNamespace('upgrade', '--install', release, chart, '--values', given, ...options);
      },
      kube: (...words: readonly string[]) => kube('--namespace', name, ...words),
      /** What the API server has of the chart, without what controllers write. */
      async objects(): Promise<Objects> {
        const selector = 'app.kubernetes.io/part-of=svault';
        const text = await kube('--namespace', name, 'get', KINDS, '--selector', selector, '--output=json');
        const { items } = JSON.parse(text) as { items: readonly Stored[] };
        return Object.fromEntries(
          items.map(({ kind, spec, metadata: { name: own, uid, labels, generation } }) => [
            `${kind}/${own}`,
            { kind, spec, metadata: { name: own, uid, labels, generation } },
          ]),
        );
      },
      /** A pod as the API server would store it, which controllers asked for. */
      async admitted(pod: Pod): Promise<Pod> {
        const file = join(folder, 'pod.json');
        const own = { apiVersion: 'v1', kind: 'Pod', ...pod, metadata: { name: 'pod' } };
        writeFileSync(file, JSON.stringify(own));
        return JSON.parse(
          await kube('--namespace', name, 'create', '--dry-run=server', '--output=json', '--filename', file),
        ) as Pod;
      },
    };
  }

  const changedBetween = (before: Objects, after: Objects): readonly string[] =>
    [...new Set([...Object.keys(before), ...Object.keys(after)])]
      .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
      .toSorted();

  const everything = (program: ProgramName): Values =>
    SCENARIOS.find(([of, name]) => of === program && name === 'everything')?.[2] ?? {};

  test('a namespace that enforces "restricted" rejects the pod of the chart with the network of its node', async () => {
    const there = await namespaceOf('unrestricted');
    await there.apply(chartOf('control-plane'), MINIMAL['control-plane']);
    const [pod] = Object.values(podsOf(Object.values(await there.objects())));
    if (pod === undefined) throw new Error('the chart makes no pod');
    const open = there.admitted({ ...pod, spec: { ...pod.spec, hostNetwork: true } });
    await expect(open).rejects.toThrow('violates PodSecurity "restricted:latest": host namespaces');
  });

  test.each(SCENARIOS.map(([program, name, values], at) => ({ at, program, name, values })))(
    'the chart of the $program, $name, is installed, and its pods are admitted without a token',
    async ({ at, program, values }) => {
      const there = await namespaceOf(`scenario-${at}`);
      await there.apply(chartOf(program), values, '--dry-run=server');
      expect(await there.objects()).toEqual({});
      await there.apply(chartOf(program), values);
      const pods = Object.values(podsOf(Object.values(await there.objects())));
      expect(pods.length).toBeGreaterThan(0);
      for (const pod of pods) {
        const { volumes = [], containers } = (await there.admitted(pod)).spec;
        expect(volumes.map(({ name }) => name)).toEqual(pod.spec.volumes?.map(({ name }) => name));
        expect(containers.flatMap(({ volumeMounts }) => volumeMounts)).not.toContainEqual(
          expect.objectContaining({ mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }),
        );
      }
    },
  );

  describe.each(['control-plane', 'webhook'] as const)('the chart of the %s', (program) => {
    const workload = program === 'webhook' ? 'StatefulSet' : 'Deployment';
    const name = `svault-svault-${program}`;

    test('changes nothing with the same values, and its pods alone with other settings, until a rollback', async () => {
      const there = await namespaceOf(`upgrade-${program}`);
      const values = everything(program);
      await there.apply(chartOf(program), values);
      const first = await there.objects();
      await there.apply(chartOf(program), values);
      expect(await there.objects()).toEqual(first);
      const podMakers = [`${workload}/${name}`, ...(program === 'webhook' ? [`CronJob/${name}-backup`] : [])];
      await there.apply(chartOf(program), {
        ...values,
        drainSeconds: 20,
        settings: { SV_LOG_LEVEL: 'debug' },
      });
      const second = await there.objects();
      expect(changedBetween(first, second)).toEqual(podMakers.toSorted());
      const restOf = (objects: Objects): object => ({ ...objects[podMakers[0] ?? '']?.spec, template: '' });
      expect(restOf(second)).toEqual(restOf(first));
      await there.helm('rollback', RELEASE, '1');
      const specsOf = (objects: Objects) => Object.entries(objects).map(([key, { spec }]) => [key, spec]);
      expect(specsOf(await there.objects())).toEqual(specsOf(first));
    });

    test('is upgraded from bare to every option and to the next version', async () => {
      const there = await namespaceOf(`next-${program}`);
      await there.apply(chartOf(program), MINIMAL[program]);
      // The claim keeps its class.
      const values = { ...everything(program), persistence: undefined };
      await there.apply(chartOf(program), values);
      const next = ['--version=0.1.1', '--app-version=0.1.1', '--destination', dir.path];
      await there.helm('package', chartOf(program), ...next);
      await there.apply(join(dir.path, `svault-${program}-0.1.1.tgz`), values);
      const { metadata } = (await there.objects())[`${workload}/${name}`] ?? {};
      expect(metadata).toMatchObject({ labels: { 'app.kubernetes.io/version': '0.1.1' } });
    });

    test('leaves nothing but its claims when it is uninstalled, and is installed again upon them', async () => {
      const there = await namespaceOf(`uninstall-${program}`);
      await there.apply(chartOf(program), MINIMAL[program]);
      const claims = Object.entries(await there.objects()).filter(([key]) => key.startsWith('PersistentV'));
      expect(claims).toHaveLength(program === 'webhook' ? 2 : 0);
      await there.helm('uninstall', RELEASE, '--wait');
      expect(await there.objects()).toEqual(Object.fromEntries(claims));
      await there.apply(chartOf(program), MINIMAL[program]);
      expect(await there.objects()).toMatchObject(Object.fromEntries(claims));
    });

    test.skipIf(!hasControllers)(
      `has as many pods as its values say, by the controllers${WITHOUT_CONTROLLERS}`,
      async () => {
        const there = await namespaceOf(`pods-${program}`);
        const values = everything(program);
        await there.apply(chartOf(program), values);
        const pods = `{.status.replicas}=${Number(values['replicas'] ?? 1)}`;
        await there.kube('wait', `--for=jsonpath=${pods}`, '--timeout=60s', `${workload}/${name}`);
      },
    );
  });

  test.skipIf(!hasControllers)(
    `the commands of docs/deploy/kubernetes.md make jobs that back up and restore, and their pods${WITHOUT_CONTROLLERS}`,
    async () => {
      const there = await namespaceOf('vault', 'svault-webhook');
      await there.apply(chartOf('webhook'), MINIMAL.webhook);
      const page = readFileSync(join(COMPOSE, '../docs/deploy/kubernetes.md'), 'utf8');
      const [, section = ''] = /^### Backup and restore$(.*?)^## /ms.exec(page) ?? [];
      const commands = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text).join('');
      // There is no node that would complete a job.
      const script = commands.replaceAll(/^.* wait --for=condition=complete .*$/gm, '');
      const PATH = `${await kubectlFolder()}:${process.env['PATH']}`;
      const options = { env: { PATH, KUBECONFIG: server.kubeconfig } };
      expect(await run(['sh', '-euc', script], options)).toMatchObject({ code: 0, stderr: '' });
      const active = ['--for=jsonpath={.status.active}=1', '--timeout=60s'];
      await there.kube('wait', ...active, 'job/backup-now', 'job/restore');
      await there.kube(
        'wait',
        '--for=jsonpath={.status.replicas}=1',
        '--timeout=60s',
        'statefulset/svault-webhook',
      );
    },
  );

  test('the number of control planes that an autoscaler set stays when the chart leaves it out', async () => {
    const there = await namespaceOf('autoscaler');
    const values = { ...MINIMAL['control-plane'], replicas: null };
    await there.apply(chartOf('control-plane'), values);
    await there.kube('scale', 'deployment/svault-svault-control-plane', '--replicas=3');
    await there.apply(chartOf('control-plane'), { ...values, drainSeconds: 20 });
    const { spec } = (await there.objects())['Deployment/svault-svault-control-plane'] ?? {};
    expect(spec).toMatchObject({ replicas: 3, template: { spec: { terminationGracePeriodSeconds: 30 } } });
  });

  test.skipIf(!hasControllers)(
    `a larger size grows the volume of the webhook, and its class stays${WITHOUT_CONTROLLERS}`,
    async () => {
      const there = await namespaceOf('volumes');
      const volume = join(dir.path, 'volume.json');
      writeFileSync(volume, JSON.stringify(GROWING_VOLUME));
      await kube('create', '--filename', volume);
      const valuesOf = (persistence: object): Values => ({
        ...MINIMAL.webhook,
        backup: { enabled: false },
        persistence: { storageClass: 'growing', ...persistence },
      });
      const claim = 'persistentvolumeclaim/svault-svault-webhook-data';
      await there.apply(chartOf('webhook'), valuesOf({ size: '1Gi' }));
      await there.kube('wait', '--for=jsonpath={.status.phase}=Bound', '--timeout=60s', claim);
      await there.apply(chartOf('webhook'), valuesOf({ size: '2Gi' }));
      const requested = '--output=jsonpath={.spec.resources.requests.storage}';
      expect(await there.kube('get', claim, requested)).toBe('2Gi');
      const other = there.apply(chartOf('webhook'), valuesOf({ size: '2Gi', storageClass: 'other' }));
      await expect(other).rejects.toThrow(/spec is immutable/);
    },
  );
});
