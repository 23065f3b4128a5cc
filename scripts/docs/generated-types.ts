import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { GeneratedPage } from './generated-pages.ts';
import { openApiDocument } from './openapi-document.ts';

const FILE = new URL('../../control-plane/console/src/api/management-api.ts', import.meta.url);
/** By its path: from here its name would be found beside another TypeScript than the one that it needs. */
const GENERATOR = fileURLToPath(
  new URL('../type-generator/node_modules/openapi-typescript/bin/cli.js', import.meta.url),
);

/** The console's types of the management API, as they are and as the OpenAPI document has them. */
export async function generatedTypes(): Promise<GeneratedPage> {
  const input = JSON.stringify(await openApiDocument());
  const wanted = execFileSync(process.execPath, [GENERATOR], { input, encoding: 'utf8' });
  return { file: FILE, now: readFileSync(FILE, 'utf8'), wanted };
}
