import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { controlPlaneConfig } from '@svault/control-plane/config';
import { startControlPlane } from '@svault/control-plane/serve';
import { createLogger } from '@svault/server-kit/logger';
import { toBase64url } from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import type { OpenApiDocument } from './openapi-types.ts';

/** `GET /api/openapi.json` of a control plane that is started for it, with its public address as in the documentation. */
export async function openApiDocument(): Promise<OpenApiDocument> {
  const dir = tempDir();
  const config = controlPlaneConfig({
    SV_BASE_URL: 'https://svault.example.org',
    SV_LISTEN: '127.0.0.1:0',
    SV_MASTER_KEY: toBase64url(randomBytes(32)),
    SV_DATABASE_URL: `sqlite:${join(dir.path, 'control-plane.db')}`,
  });
  const logger = createLogger({ name: 'docs', level: 'error', format: 'json' });
  const service = await startControlPlane(config, { logger });
  try {
    const response = await fetch(`${service.url}/api/openapi.json`);
    if (!response.ok) throw new Error(`GET /api/openapi.json answered ${response.status}`);
    return (await response.json()) as OpenApiDocument;
  } finally {
    await service.close();
    dir.remove();
  }
}
