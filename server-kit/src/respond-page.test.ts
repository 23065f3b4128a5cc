import { expect, test } from 'vitest';
import { wantsPage } from './respond-page.ts';

const CHROMIUM = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
/** Of Java's HttpURLConnection. */
const JAVA = 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2';

test.each([
  ['a browser', { accept: CHROMIUM, 'sec-fetch-mode': 'navigate' }, true, true],
  ['a script of a page', { accept: '*/*', 'sec-fetch-mode': 'cors' }, false, false],
  ['curl', { accept: '*/*' }, false, false],
  ['a client without Accept', {}, false, false],
  ['a client of JSON', { accept: 'application/json' }, false, false],
  ['a client that names HTML unasked', { accept: JAVA }, true, false],
])('%s gets an error as a page elsewhere and in the API as it asks', (_who, headers, elsewhere, inApi) => {
  expect([wantsPage({ headers }), wantsPage({ headers }, true)]).toEqual([elsewhere, inApi]);
});
