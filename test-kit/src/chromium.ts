import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/**
 * Starts the machine's Chromium without a window.
 *
 * @param further arguments of its command line
 * @throws Error saying what to install; a test of pages that saw no browser must not pass
 */
export async function launchChromium(further: readonly string[] = []): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'] ?? PLACES.find((path) => existsSync(path));
  if (executablePath === undefined)
    throw new Error(
      'there is no Chromium here: install one (Debian: apt-get install chromium) or name it in CHROMIUM',
    );
  const args = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    ...further,
  ];
  return chromium.launch({ executablePath, args });
}
