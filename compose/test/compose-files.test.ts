import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DEFAULT_LIMITS } from '@svault/test-kit/program-settings';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NO_COMPOSE, composeReads, hasCompose } from './compose-reads.ts';
import { type Service, deployments, dockerfile } from './deployment.ts';
import { type RunningProgram, programsOf } from './program-settings.ts';

const dir = tempDir();
afterAll(() => dir.remove());

const ALL = deployments();

/** Lines of .env that neither a program nor compose.yaml reads, and who does. */
const READ_BY_OTHERS: Readonly<Record<string, string>> = {
  COMPOSE_PROJECT_NAME: 'compose itself',
  SVAULT_TUNNEL: 'svault webhook init --force',
};

/** Images of others begin as root, to hand over folders or to bind a low port; with these capabilities and no more. */
const FOREIGN_ROOT: Readonly<Record<string, readonly string[]>> = {
  proxy: ['NET_BIND_SERVICE'],
  postgres: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'],
  valkey: ['CHOWN', 'DAC_OVERRIDE', 'SETGID', 'SETUID'],
};
/** They do their step and end, so they are neither started again nor asked how they are. */
const STEPS = ['keys', 'bind'];
/** Caddy's image has nothing to ask it with, and its administration is off; it ends where it cannot go on. */
const UNASKED = ['proxy'];

/** Of SV_DRAIN_SECONDS. */
const MAX_DRAIN_SECONDS = 30;
/** What a program may take in addition: docs/operate/upgrades.md, "What a stop does". */
const STOP_SECONDS = 9.5;

/** A program takes these together only. */
const SMTP = { SV_SMTP_URL: 'smtps://mail.example.org', SV_SMTP_FROM: 'svault@example.org' };
const OIDC = {
  SV_OIDC_ISSUER: 'https://login.example.org',
  SV_OIDC_CLIENT_ID: 'svault',
  SV_OIDC_CLIENT_SECRET: 'secret',
};

const isSecretName = (name: string): boolean =>
  /(?:KEY|SECRET|TOKEN|PASSPHRASE|PASSWORD)(?:_NEXT)?$/.test(name) && !name.startsWith('SV_LIMIT_');

it('the deployments are the pair, several control planes, and the webhook alone with each kind of ingress', () => {
  expect(ALL.map(({ name }) => name)).toEqual([
    '.',
    'scale',
    'webhook/cloudflared',
    'webhook/custom',
    'webhook/ngrok',
    'webhook/tailscale',
  ]);
});

describe.each(ALL)('compose/$name', (deployment) => {
  const { services, set, shown, interpolated } = deployment;
  let programs: readonly RunningProgram[] = [];
  beforeAll(() => {
    programs = programsOf(deployment);
  });
  const listed = new Set([...set.keys(), ...shown.keys()]);
  const each = Object.entries(services);

  it.skipIf(!hasCompose)(`is taken by compose as it is${NO_COMPOSE}`, () => {
    const folder = join(dir.path, deployment.name);
    mkdirSync(folder, { recursive: true });
    cpSync(join(deployment.folder, 'compose.yaml'), join(folder, 'compose.yaml'));
    cpSync(join(deployment.folder, '.env.example'), join(folder, '.env'));
    for (const path of deployment.secretFiles) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), 'x');
    }
    expect(composeReads(folder)).toEqual([0, '']);
  });

  it('has no line in .env.example that no program reads', () => {
    const unread = [...listed].filter(
      (name) =>
        !interpolated.has(name) &&
        !(name in READ_BY_OTHERS) &&
        // What compose.yaml says itself takes the place of what .env says.
        !programs.some(({ names, ownNames }) => names.has(name) && !ownNames.has(name)),
    );
    expect(unread).toEqual([]);
  });

  it('has every setting of its programs in .env.example, or in compose.yaml', () => {
    expect(programs.length).toBeGreaterThan(0);
    const missing = programs.flatMap(({ names, ownNames }) =>
      [...names].filter((name) => {
        const base = name.replace(/_(?:FILE|COMMAND)$/, '');
        const twins = [base, `${base}_FILE`, `${base}_COMMAND`];
        return !twins.some((twin) => names.has(twin) && (listed.has(twin) || ownNames.has(twin)));
      }),
    );
    expect([...new Set(missing)]).toEqual([]);
  });

  it('has every variable of compose.yaml in .env.example, set where compose.yaml has no value for it', () => {
    for (const [name, value] of interpolated)
      expect(value === undefined ? [...set.keys()] : [...listed], name).toContain(name);
  });

  it('starts with the values of .env.example', () => {
    expect(() => programsOf(deployment)).not.toThrow();
  });

  it('shows defaults, or examples of optional settings, as comments', () => {
    for (const [name, value] of shown) {
      if (name.endsWith('_FILE')) continue;
      const fallback = interpolated.get(name);
      if (fallback !== undefined && fallback !== '') expect(value, name).toBe(fallback);
      const together = { ...(name.startsWith('SV_OIDC_') && OIDC), ...(name.startsWith('SV_SMTP_') && SMTP) };
      const more = { ...together, [name]: value };
      for (const { changedBy } of programs.filter(({ names }) => names.has(name)))
        for (const [key, before] of Object.entries(changedBy(more)))
          expect([undefined, [], {}], `${name} (${key})`).toContainEqual(before);
      const scope = /^SV_LIMIT_(\w+)$/.exec(name)?.[1]?.toLowerCase();
      const limit = DEFAULT_LIMITS[scope ?? '']?.limit;
      if (limit !== undefined) expect(Number(value), name).toBe(limit);
    }
    if (shown.has('SV_OIDC_SIGN_UP')) expect(shown.get('SV_OIDC_SIGN_UP')).toBe('off');
  });

  it('hardens every service', () => {
    for (const [name, service] of each) {
      expect(service, name).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        logging: { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '3' } },
      });
      expect(FOREIGN_ROOT[name] ?? [], name).toEqual(expect.arrayContaining([...(service.cap_add ?? [])]));
      expect(service.privileged, name).toBeUndefined();
      expect(service.network_mode ?? 'none', name).toBe('none');
      expect(service.restart, name).toBe(STEPS.includes(name) ? undefined : 'unless-stopped');
    }
  });

  it('runs nothing as root that can run as another user', () => {
    for (const [name, service] of each) {
      if (name in FOREIGN_ROOT) continue;
      const user = service.user ?? built(service)?.user;
      expect(user, name).toMatch(/^(?:node|\$\{SVAULT_UID:\?[^}]*\}:\$\{SVAULT_GID:\?[^}]*\})$/);
    }
  });

  it('has a health check for every long-running service', () => {
    for (const [name, service] of each) {
      if (STEPS.includes(name) || UNASKED.includes(name)) continue;
      expect(service.healthcheck !== undefined || built(service)?.hasHealthCheck === true, name).toBe(true);
    }
  });

  it('gives every program the longest time that its stop may take', () => {
    for (const [name, service] of each) {
      if (STEPS.includes(name) || service.build === undefined) continue;
      const seconds = Number(/^(\d+)s$/.exec(service.stop_grace_period ?? '')?.[1]);
      expect(seconds, name).toBeGreaterThan(MAX_DRAIN_SECONDS + STOP_SECONDS);
    }
  });

  it('has no secret in an environment, and none in .env.example', () => {
    const environments = each.flatMap(([, { environment = {} }]) => Object.entries(environment));
    for (const [name, value] of [...environments, ...set, ...shown]) {
      if (isSecretName(name)) expect(value, name).toMatch(/^file:/);
      expect(value, name).not.toMatch(/:\/\/[^/]*@/);
    }
  });

  it('pins every image', () => {
    for (const [name, service] of each) {
      const image = service.image?.replace(/^\$\{\w+:-(.*)\}$/, '$1') ?? '';
      for (const each of [image, ...(built(service)?.bases ?? [])])
        expect(each, name).toMatch(/^[a-z][a-z/-]*:v?\d[\w.-]*$/);
    }
  });

  it('listens on this machine only, except for the reverse proxy', () => {
    for (const [name, { ports = [] }] of each)
      for (const port of ports) if (name !== 'proxy') expect(port, name).toMatch(/^127\.0\.0\.1:/);
  });
});

const built = ({ build }: Service) => (build === undefined ? undefined : dockerfile(build.dockerfile));
