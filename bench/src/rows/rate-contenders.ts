import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@svault/compose/free-port';
import { startPair } from '@svault/compose/pair';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { LOAD_CORE, pinnedTo, SERVER_CORE } from '../machine.ts';
import { controlPlaneContenders, pidOf } from './control-plane.ts';
import { mcpContenders } from './mcp.ts';
import { startPostgresPair } from './postgres-pair.ts';
import type { RateContenders } from './rates.ts';
import { startWebhookContender } from './webhook-credential.ts';
import { startYardstick } from './yardstick.ts';

/**
 * Starts every server whose rate is measured, the yardsticks first.
 *
 * @param dir where they keep their files
 * @param seconds of one run, for which the webhook's tickets have to last
 */
export async function startContenders(
  dir: string,
  seconds: number,
): Promise<RateContenders & { readonly pids: readonly number[]; readonly stop: () => Promise<void> }> {
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    await Promise.allSettled(stops.splice(0).map((each) => each()));
  };
  try {
    const bare = await startYardstick('bare Express', await freePort());
    stops.push(bare.stop);
    const bareAgain = await startYardstick('bare Express against itself', await freePort());
    stops.push(bareAgain.stop);
    // The pair's webhook takes part only by receiving audit rows, so it shares the load's core.
    const launcher = { 'control-plane': pinnedTo(SERVER_CORE), webhook: pinnedTo(LOAD_CORE) };
    const pair = await startPair({ dir: join(dir, 'pair'), env: RAISED_LIMITS, launcher });
    stops.push(() => pair.stop());
    // A separate process, so that the memory of each API is measured apart.
    const mcpPair = await startPair({ dir: join(dir, 'mcp'), env: RAISED_LIMITS, launcher });
    stops.push(() => mcpPair.stop());
    const postgresPair = await startPostgresPair({
      dir: join(dir, 'on-postgres'),
      env: RAISED_LIMITS,
      launcher,
    });
    stops.push(postgresPair.stop);
    const webhookDir = join(dir, 'webhook');
    mkdirSync(webhookDir);
    const webhook = await startWebhookContender(webhookDir, await freePort(), seconds);
    stops.push(webhook.stop);
    const pairs = [pair, mcpPair, postgresPair.pair];
    return {
      bare: bare.contender,
      bareAgain: bareAgain.contender,
      controlPlane: await controlPlaneContenders(pair),
      mcp: await mcpContenders(mcpPair),
      onPostgres: await controlPlaneContenders(
        postgresPair.pair,
        ', PostgreSQL and Redis on the load’s core',
      ),
      webhook: webhook.contender,
      pids: [
        ...[bare, bareAgain, webhook].map(({ contender }) => contender.pid),
        ...pairs.flatMap((each) => [pidOf(each, 'control-plane'), pidOf(each, 'webhook')]),
      ],
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
