import stringWidth from 'string-width';

const segmenter = new Intl.Segmenter();
const MARK = '…';

/** The text within a width in columns of a terminal; one that is longer ends in `…`. Nothing that shows as one is halved. */
export function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    used += stringWidth(segment);
    if (used > width - 1) break;
    kept += segment;
  }
  return kept.trimEnd() + MARK;
}
