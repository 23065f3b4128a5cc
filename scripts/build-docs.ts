import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vitepress';
import { apiPages } from './docs/api-pages.ts';
import { openApiDocument } from './docs/openapi-document.ts';
import type { OpenApiDocument } from './docs/openapi-types.ts';
import { requestsToOthers } from './docs/site-requests.ts';

/**
 * `npm run docs`: the documentation as a static site in docs/.vitepress/dist, with the API rendered from its OpenAPI
 * document. Ends with 1 where the site would ask another host for anything.
 */
const DOCS = fileURLToPath(new URL('../docs', import.meta.url));
const API = join(DOCS, 'reference/api');
const SITE = join(DOCS, '.vitepress/dist');

mkdirSync(API, { recursive: true });
const agentApi = JSON.parse(
  readFileSync(join(DOCS, 'reference/agent-api.openapi.json'), 'utf8'),
) as OpenApiDocument;
for (const document of [agentApi, await openApiDocument()])
  for (const { name, text } of apiPages(document)) writeFileSync(join(API, `${name}.md`), text);
try {
  await build(DOCS);
} finally {
  rmSync(API, { recursive: true });
}

const files = readdirSync(SITE, { recursive: true, encoding: 'utf8' });
const found = files
  .filter((file) => /\.(?:html|css)$/.test(file))
  .flatMap((file) =>
    requestsToOthers(readFileSync(join(SITE, file), 'utf8')).map((url) => `${file}: ${url}`),
  );
if (found.length > 0 || !files.some((file) => file.includes('localSearchIndex'))) {
  console.error(['the site asks other hosts, or has no search:', ...found].join('\n'));
  process.exitCode = 1;
}
