import { XMLValidator } from 'fast-xml-parser';
import { expect, test } from 'vitest';
import { badge } from './badge.ts';
import type { Report } from './report.ts';

const report = (failed: number): Report =>
  ({ protocol: 'v1', conforms: failed === 0, counts: { passed: 500, failed } }) as Report;

test.each([
  [0, 'svault webhook protocol: v1 · 500 checks pass'],
  [2, 'svault webhook protocol: v1 · 2 of 502 fail'],
])('a run with %i failures has an SVG that says so', (failed, said) => {
  const svg = badge(report(failed));
  // oxlint-disable-next-line typescript/no-deprecated
  expect(XMLValidator.validate(svg)).toBe(true);
  expect(svg).toContain(`<title>${said}</title>`);
});
