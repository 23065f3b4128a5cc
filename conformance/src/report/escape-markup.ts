const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

/** A text as it stands in HTML and SVG, attributes included. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => ENTITIES[character] ?? '');
}
