import { type Frame, isOurs } from './profile.ts';

const WIDTH = 1_200;
const ROW = 17;
const MARGIN = 8;
const TITLE = 24;
/** Of the whole: what is narrower cannot be seen. */
const MIN_SHARE = 0.002;
const CHARACTER = 6.4;
const MIN_CHARACTERS = 3;

/** Ours, garbage collection, Node with what is outside JavaScript, and packages of others. */
const colorOf = (owner: string): string => {
  if (isOurs(owner)) return '#f4a261';
  if (owner === 'garbage collection') return '#e76f51';
  return owner === 'Node' || owner === 'outside JavaScript' ? '#a8c686' : '#8ecae6';
};

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** A flame graph: each frame as wide as its share of the time, above the one that called it; what took most is at the left. */
export function flameGraph(root: Frame, title: string): string {
  const parts: string[] = [];
  let depth = 0;
  const draw = (frame: Frame, left: number, row: number): void => {
    let at = left;
    for (const callee of [...frame.callees.values()].toSorted((a, b) => b.totalMicros - a.totalMicros)) {
      const share = callee.totalMicros / root.totalMicros;
      if (share < MIN_SHARE) return;
      depth = Math.max(depth, row + 1);
      parts.push(box(callee, share, at, row));
      draw(callee, at, row + 1);
      at += share;
    }
  };
  draw(root, 0, 0);
  const height = TITLE + depth * ROW + 2 * MARGIN;
  const top = height - MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="${MARGIN}" y="${TITLE - 6}" font-size="14">${escaped(title)}</text>`,
    `<g transform="translate(0 ${top})">`,
    ...parts,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

/** Rows count upwards from the origin. */
function box({ name, owner }: Frame, share: number, left: number, row: number): string {
  const scale = WIDTH - 2 * MARGIN;
  const [x, width] = [MARGIN + left * scale, share * scale];
  const y = -(row + 1) * ROW;
  const label = name.slice(0, Math.max(0, Math.floor((width - 4) / CHARACTER)));
  const text =
    label.length < Math.min(MIN_CHARACTERS, name.length)
      ? ''
      : `<text x="${(x + 2).toFixed(1)}" y="${y + 12}">${escaped(label)}</text>`;
  const percent = (share * 100).toFixed(1);
  return (
    `<g><title>${escaped(name)} (${escaped(owner)}), ${percent} %</title>` +
    `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 1}" fill="${colorOf(owner)}"/>${text}</g>`
  );
}
