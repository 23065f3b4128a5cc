import { fileURLToPath } from 'node:url';
import { GenericContainer } from 'testcontainers';

/** Names that compose.yaml runs where .env says nothing else. */
export const IMAGES = {
  'control-plane': 'svault-control-plane:0.1.0',
  webhook: 'svault-webhook:0.1.0',
  setup: 'svault-setup:0.1.0',
} as const;

/** What they are built upon; tests run programs of their own in it. */
export const NODE_IMAGE = 'node:24-bookworm-slim';

export const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

/** Builds all images from the Dockerfiles, as compose would. What did not change since the last time is taken from there. */
export async function buildImages(): Promise<void> {
  for (const [name, image] of Object.entries(IMAGES))
    await GenericContainer.fromDockerfile(ROOT, `compose/${name}.Dockerfile`).build(image, {
      deleteOnExit: false,
    });
}
