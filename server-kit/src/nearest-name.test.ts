import { expect, it } from 'vitest';
import { nearestName } from './nearest-name.ts';

const NAMES = ['SV_BASE_URL', 'SV_LISTEN', 'SV_LOG_LEVEL', 'SV_LOG_FORMAT'];

it.each([
  ['SV_BASE_ULR', 'SV_BASE_URL'],
  ['SV_BASEURL', 'SV_BASE_URL'],
  ['SV_LOGLEVEL', 'SV_LOG_LEVEL'],
  ['SV_LISTENS', 'SV_LISTEN'],
  ['SV_COMPLETELY_OTHER', undefined],
  ['', undefined],
])('%s most likely stands for %s', (misspelt, meant) => {
  expect(nearestName(misspelt, NAMES)).toBe(meant);
});
