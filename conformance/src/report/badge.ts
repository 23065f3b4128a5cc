import { escapeMarkup } from './escape-markup.ts';
import type { Report } from './report.ts';

const LABEL = 'svault webhook protocol';
const GREEN = '#2c7a39';
const RED = '#b3261e';
/** Of Verdana at 11 pixels, near enough: `textLength` makes it exact. */
const CHARACTER_PIXELS = 6.6;
const PADDING_PIXELS = 10;

/** An SVG for a README that says what a whole run came to; it loads nothing from anywhere. */
export function badge({ protocol, conforms, counts }: Report): string {
  const said = conforms
    ? `${protocol} · ${counts.passed} checks pass`
    : `${protocol} · ${counts.failed} of ${counts.passed + counts.failed} fail`;
  const [left, right] = [widthOf(LABEL), widthOf(said)];
  const text = (at: number, width: number, words: string): string =>
    `<text x="${at + width / 2}" y="14" textLength="${width - PADDING_PIXELS}">${escapeMarkup(words)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" role="img" aria-label="${escapeMarkup(`${LABEL}: ${said}`)}">
<title>${escapeMarkup(`${LABEL}: ${said}`)}</title>
<rect width="${left}" height="20" fill="#444"/><rect x="${left}" width="${right}" height="20" fill="${conforms ? GREEN : RED}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">${text(0, left, LABEL)}${text(left, right, said)}</g>
</svg>
`;
}

const widthOf = (text: string): number => Math.round(text.length * CHARACTER_PIXELS) + PADDING_PIXELS;
