import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createAdminClient } from '@svault/compose/admin-client';
import { bind, parseRegistrationLink } from '@svault/compose/binding';
import { freePort } from '@svault/compose/free-port';
import { type ProgramProcess, runSubcommand, startProgram } from '@svault/compose/program-process';
import { newKey, randomToken } from '@svault/shared';
import { startPostgres } from '@svault/test-kit/postgres-server';
import { startRedis } from '@svault/test-kit/redis-server';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type Call, clientOf } from './management-service.ts';
import { type ServiceSteps, stepsOn } from './service-steps.ts';

/** One of the control planes of a cluster. */
export interface Member extends ServiceSteps {
  readonly url: string;
  readonly admin: Call;
  kill(): Promise<void>;
  restart(): Promise<void>;
}

/** Several control planes as processes of their own over one PostgreSQL and one Redis, with one webhook. */
export interface Cluster {
  readonly members: readonly Member[];
  /** Path of the webhook's database. */
  readonly webhookDatabase: string;
  stop(): Promise<void>;
}

/** @param more further settings of the control planes */
export async function startCluster(size: number, more: Readonly<Record<string, string>>): Promise<Cluster> {
  const dir = tempDir();
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  const ports: number[] = [];
  while (ports.length < size + 1) ports.push(await freePort());
  const [webhookPort = 0, ...memberPorts] = ports;
  const urlOf = (port: number | undefined): string => `http://127.0.0.1:${port}`;
  const adminKey = newKey('svadmin');
  const webhookDir = join(dir.path, 'webhook');
  mkdirSync(webhookDir);
  const env = {
    ...process.env,
    SV_LOG_LEVEL: 'error',
    SV_EGRESS_ALLOW: '127.0.0.0/8',
    SV_BASE_URL: urlOf(memberPorts[0]),
    SV_DATABASE_URL: postgres.url,
    SV_REDIS_URL: redis.url,
    SV_MASTER_KEY: randomToken(32),
    SV_BOOTSTRAP_EMAIL: 'owner@example.org',
    SV_BOOTSTRAP_ADMIN_KEY: adminKey,
    SV_WEBHOOK_URL: urlOf(webhookPort),
    SV_WEBHOOK_LISTEN: `127.0.0.1:${webhookPort}`,
    SV_WEBHOOK_DATA_DIR: webhookDir,
    SV_WEBHOOK_MASTER_KEY: randomToken(32),
    SV_WEBHOOK_SERVICE_URL: urlOf(memberPorts[0]),
    SV_WEBHOOK_SETUP_TOKEN: randomToken(32),
    ...more,
  };
  const cwd = dir.path;
  const stops: (() => Promise<void>)[] = [
    async () => {
      await Promise.all([postgres.remove(), redis.kill()]);
      dir.remove();
    },
  ];
  const stop = async (): Promise<void> => {
    for (const step of stops.splice(0).reverse()) await step();
  };

  const startMember = async (port: number): Promise<Member> => {
    const url = urlOf(port);
    const start = (): Promise<ProgramProcess> =>
      startProgram('control-plane', url, { env: { ...env, SV_LISTEN: `127.0.0.1:${port}` }, cwd });
    let running = await start();
    stops.push(() => running.stop());
    const admin = clientOf(url, { authorization: `Bearer ${adminKey}` });
    return {
      ...stepsOn(url, admin),
      url,
      admin,
      kill: () => running.kill(),
      restart: async () => {
        running = await start();
      },
    };
  };
  try {
    const webhook = await startProgram('webhook', urlOf(webhookPort), { env, cwd });
    stops.push(() => webhook.stop());
    const members: Member[] = [];
    for (const port of memberPorts) members.push(await startMember(port));
    const link = await runSubcommand('webhook', ['bind-link'], { env, cwd });
    await bind(createAdminClient(urlOf(memberPorts[0]), adminKey), parseRegistrationLink(link));
    return { members, webhookDatabase: join(webhookDir, 'webhook.db'), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
