/** The charts of both programs, by helm and the schemas of Kubernetes. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SETTINGS_READERS, namesAskedFor } from '@svault/test-kit/program-settings';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { COMPOSE } from '../deployment.ts';
import { SECRETS } from '../program-settings.ts';
import { MINIMAL, type Pod, SCENARIOS, type Values, chartOf, podsOf, readChart, render } from './charts.ts';
import { violationsOf } from './pod-security.ts';
import { helm, kubeconform } from './tools.ts';

const dir = tempDir();
afterAll(() => dir.remove());

const PROGRAMS = ['control-plane', 'webhook'] as const;
const { version } = JSON.parse(readFileSync(join(COMPOSE, '../package.json'), 'utf8')) as { version: string };

const PORT_SETTING = { 'control-plane': 'SV_LISTEN', webhook: 'SV_WEBHOOK_LISTEN' } as const;

/** What a program reads there; the values of the files are made up. */
function environmentOf({ spec }: Pod): Readonly<Record<string, string>> {
  const env = spec.containers[0]?.env ?? [];
  expect(new Set(env.map(({ name }) => name)).size).toBe(env.length);
  return Object.fromEntries(
    env.map(({ name, value }) => {
      if (!/^SV_.*_FILE$/.test(name)) return [name, value];
      const secret = name.slice(0, -'_FILE'.length);
      expect(value).toBe(`/etc/svault/secrets/${secret}`);
      return [secret, SECRETS[secret] ?? `no secret is known for ${secret}`];
    }),
  );
}

describe.each(SCENARIOS)('the chart of the %s, %s', (program, _, values) => {
  test('passes helm lint --strict', async () => {
    const given = join(dir.path, 'values.json');
    writeFileSync(given, JSON.stringify(values));
    const { code, stdout } = await helm('lint', '--strict', chartOf(program), '--values', given);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('0 chart(s) failed') });
  });

  test('makes manifests that the schemas of Kubernetes, the Gateway API and the Prometheus operator know', async () => {
    const { file, manifests } = await render(program, values, dir.path);
    const { code, stdout } = await kubeconform(file);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        new RegExp(`${manifests.length} resources .*Invalid: 0, Errors: 0, Skipped: 0`),
      ),
    });
  });

  test('makes pods that the Pod Security Standard "restricted" takes, with nothing of the cluster in them', async () => {
    const { manifests } = await render(program, values, dir.path);
    const pods = Object.values(podsOf(manifests));
    expect(pods.length).toBeGreaterThan(0);
    for (const { spec } of pods) {
      expect(violationsOf(spec)).toEqual([]);
      expect(spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
    }
  });

  test('gives the program settings that it starts with, secrets as files alone, and the time that a stop takes', async () => {
    const { manifests } = await render(program, values, dir.path);
    expect(manifests.map(({ kind }) => kind)).not.toContain('Secret');
    const { Deployment, StatefulSet, CronJob } = podsOf(manifests);
    const server = Deployment ?? StatefulSet;
    if (server === undefined) throw new Error('there is no server');
    for (const pod of [server, ...(CronJob === undefined ? [] : [CronJob])])
      SETTINGS_READERS[program](environmentOf(pod));
    const env = environmentOf(server);
    const [container] = server.spec.containers;
    const portOf = (name: string) => container?.ports?.find((port) => port.name === name)?.containerPort;
    expect(env[PORT_SETTING[program]]).toBe(`0.0.0.0:${portOf('http')}`);
    expect(env['SV_METRICS_LISTEN']).toBe(
      portOf('metrics') === undefined ? undefined : `0.0.0.0:${portOf('metrics')}`,
    );
    expect(server.spec.terminationGracePeriodSeconds).toBeGreaterThan(Number(env['SV_DRAIN_SECONDS']) + 9.5);
  });
});

describe.each(PROGRAMS)('the chart of the %s', (program) => {
  test('has the version of the programs, whose image it runs unless another is named', async () => {
    const { manifests } = await render(program, MINIMAL[program], dir.path);
    const images = Object.values(podsOf(manifests)).map(({ spec }) => spec.containers[0]?.image);
    expect(new Set(images)).toEqual(new Set([`svault-${program}:${version}`]));
    expect(readChart(program, 'Chart.yaml')).toContain(`\nversion: ${version}\nappVersion: ${version}\n`);
  });

  test('takes each secret setting by a Secret that exists, and none as a value', () => {
    const { properties } = JSON.parse(readChart(program, 'values.schema.json')) as {
      properties: {
        secretFiles: { properties: object };
        settings: { propertyNames: { not: { anyOf: [{ enum: string[] }] } } };
      };
    };
    const names = namesAskedFor(SETTINGS_READERS[program]);
    const secrets = names.filter((name) => names.includes(`${name}_FILE`));
    expect(Object.keys(properties.secretFiles.properties).toSorted()).toEqual(secrets.toSorted());
    const [{ enum: refused }] = properties.settings.propertyNames.not.anyOf;
    expect(refused).toEqual(expect.arrayContaining(secrets));
    expect(refused.filter((name) => !names.includes(name))).toEqual([]);
  });

  const mistakes: readonly (readonly [string, object, RegExp])[] = [
    ['a name that the chart does not have', { replica: 3 }, /'replica' not allowed/],
    ['a name in a name', { image: { tags: '1' } }, /at '\/image': additional properties 'tags'/],
    ['a number out of range', { drainSeconds: 31 }, /at '\/drainSeconds': maximum/],
    [
      'a secret as a value',
      { settings: { [program === 'webhook' ? 'SV_WEBHOOK_PASSPHRASE' : 'SV_SMTP_URL']: 'secret' } },
      /invalid propertyName 'SV_(?:WEBHOOK_PASSPHRASE|SMTP_URL)'/,
    ],
    ['a setting that the chart makes', { settings: { SV_DRAIN_SECONDS: 3 } }, /'SV_DRAIN_SECONDS'/],
    ['a value that is no setting', { settings: { PATH: '/tmp' } }, /invalid propertyName 'PATH'/],
    ['a label that selects pods', { podLabels: { 'app.kubernetes.io/name': 'x' } }, /app\.kubernetes\.io/],
    ['a route without a gateway', { httpRoute: { enabled: true } }, /at '\/httpRoute\/parentRefs': minItems/],
    ['a secret without a key', { secretFiles: { SV_X_KEY: { secret: 'a' } } }, /'SV_X_KEY' not allowed/],
    ['no peer', { networkPolicy: { ingressFrom: [] } }, /networkPolicy\.ingressFrom: name who may connect/],
    [
      'two ways in',
      {
        ingress: { enabled: true },
        httpRoute: { enabled: true, parentRefs: [{ name: 'public' }] },
      },
      /choose one/,
    ],
    ['a monitor of no metrics', { metrics: { serviceMonitor: { enabled: true } } }, /needs metrics\.enabled/],
    [
      'a monitor that nobody may follow',
      { metrics: { enabled: true, serviceMonitor: { enabled: true } } },
      /name Prometheus in networkPolicy\.metricsFrom/,
    ],
  ];
  test.each(mistakes)('rejects %s, and names it', async (_, mistake, message) => {
    const rendered = render(program, { ...MINIMAL[program], ...mistake }, dir.path);
    await expect(rendered).rejects.toThrow(message);
  });

  const addresses: readonly (readonly [string, RegExp])[] = [
    ['http://svault.example.org', /does not match pattern/],
    ['https://svault.example.org/', /does not match pattern/],
    ['https://user:password@svault.example.org', /does not match pattern/],
    ['', /does not match pattern/],
  ];
  test.each(addresses)('rejects the public address "%s"', async (address, message) => {
    const name = program === 'webhook' ? 'url' : 'baseUrl';
    const rendered = render(program, { ...MINIMAL[program], [name]: address }, dir.path);
    await expect(rendered).rejects.toThrow(message);
  });
});

test.each(PROGRAMS)(
  'the %s is scraped by the job that the alert rules name, whatever the release',
  async (program) => {
    const monitored = { enabled: true, serviceMonitor: { enabled: true } };
    const values = { ...MINIMAL[program], metrics: monitored, networkPolicy: { enabled: false } };
    const { manifests } = await render(program, values, dir.path);
    const of = (wanted: string) => manifests.find(({ kind }) => kind === wanted);
    const job = of('Service')?.metadata.labels?.[String(of('ServiceMonitor')?.spec['jobLabel'])];
    const scraped = readFileSync(join(COMPOSE, 'monitoring/prometheus.yaml'), 'utf8');
    expect(scraped).toContain(`job_name: ${job}\n`);
  },
);

test('the values of docs/deploy/kubernetes.md make valid manifests', async () => {
  const page = readFileSync(join(COMPOSE, '../docs/deploy/kubernetes.md'), 'utf8');
  const blocks = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(
    ([, text = '']) => parse(text) as Values,
  );
  expect(blocks).toHaveLength(2);
  for (const [at, program] of PROGRAMS.entries()) {
    const { file, manifests } = await render(program, blocks[at] ?? {}, dir.path);
    expect(await kubeconform(file)).toMatchObject({ code: 0 });
    const [pod] = Object.values(podsOf(manifests));
    expect(pod?.spec.containers[0]?.image).toBe(`registry.example.org/svault-${program}:${version}`);
    expect(page).toContain(`-t registry.example.org/svault-${program}:${version} .`);
  }
});

test('what the charts of both programs share is the same in both', () => {
  const same = (file: string) => expect(readChart('webhook', file)).toBe(readChart('control-plane', file));
  same('templates/_common.tpl');
  same('templates/_network.tpl');
  same('templates/tests/ready.yaml');
  const [one = {}, other = {}] = PROGRAMS.map(
    (program) =>
      (JSON.parse(readChart(program, 'values.schema.json')) as { properties: Record<string, unknown> })
        .properties,
  );
  const own = ['secretFiles', 'settings', 'networkPolicy'];
  const both = Object.keys(one).filter((name) => name in other && !own.includes(name));
  expect(both.length).toBeGreaterThan(15);
  for (const name of both) expect(other[name]).toEqual(one[name]);
});

test('the schemas reject a misspelt name, and the standard a pod that may be root', async () => {
  const { manifests } = await render('control-plane', MINIMAL['control-plane'], dir.path);
  const deployment = manifests.find(({ kind }) => kind === 'Deployment');
  const file = join(dir.path, 'misspelt.json');
  writeFileSync(file, JSON.stringify({ ...deployment, spec: { ...deployment?.spec, replcas: 3 } }));
  const { code, stdout } = await kubeconform(file);
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('replcas') });
  const volumes = [{ name: 'root', hostPath: { path: '/' } }];
  expect(violationsOf({ hostNetwork: true, volumes, containers: [{ name: 'a' }] })).toEqual([
    'host namespaces',
    'volume root',
    'a: privilege escalation',
    'a: capabilities kept',
    'a: may run as root',
    'a: seccomp profile',
  ]);
});
