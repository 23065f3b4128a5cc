import { buildImages } from './images.ts';

/** Once before all container tests. */
export async function setup(): Promise<void> {
  await buildImages();
}
