/**
 * First segments of the console's addresses, apart from `/`: `/agents` and all below it. The server answers these with the
 * console's index and no others, so that an unknown address is still 404.
 */
const SCREENS = ['agents'] as const;

/** Whether an address below the origin is one of the console's. */
export function isScreen(path: string): boolean {
  const [, first = ''] = path.split('/', 2);
  return path === '/' || (SCREENS as readonly string[]).includes(first);
}
