import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, test } from 'vitest';
import { type PairedService, startPairedService } from '../paired-service.ts';
import { CLIENT_CONTEXT_PLAYS, CLIENT_PLAYS } from './client-plays.ts';
import { ERROR_ROWS } from './error-rows.ts';
import { SERVICE_ROWS } from './webhook-rows.ts';

let service: PairedService;
const home = tempDir();
beforeAll(async () => {
  service = await startPairedService({ startJob: jobsByHand().startJob });
});
afterAll(async () => {
  await service.stop();
  home.remove();
});

const rows = { ...ERROR_ROWS, ...SERVICE_ROWS };
const plays = Object.entries({ ...CLIENT_PLAYS, ...CLIENT_CONTEXT_PLAYS }).map(
  ([key, play]) => [key, rows[key as keyof typeof rows].says, play] as const,
);
test.each(plays)('%s: %s', async (_key, _says, play) => play(service, home.path));
