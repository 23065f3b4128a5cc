import { expect, test } from 'vitest';
import { clientOf, startService } from '../support/management-service.ts';

test('healthz and readyz answer without details, and /metrics is nowhere on the public address', async () => {
  const service = await startService();
  try {
    for (const path of ['/healthz', '/readyz']) {
      const answer = await service.anyone('GET', path);
      expect([path, answer.status, answer.json]).toEqual([path, 200, { status: 'ok' }]);
    }
    expect((await service.anyone('GET', '/metrics')).status).toBe(404);
    expect(service.running.metricsUrl).toBeUndefined();
  } finally {
    await service.stop();
  }
});

test('/metrics answers on SV_METRICS_LISTEN, and nothing else does', async () => {
  const service = await startService({ SV_METRICS_LISTEN: '127.0.0.1:0' });
  try {
    const metrics = clientOf(service.running.metricsUrl ?? '');
    expect((await metrics('GET', '/metrics')).text).toContain('process_cpu_seconds_total');
    expect((await metrics('GET', '/api/openapi.json')).status).toBe(404);
  } finally {
    await service.stop();
  }
});
