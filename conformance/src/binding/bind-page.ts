/** A form of a page, as far as a browser needs it to send it. */
export interface PageForm {
  /** In lower case; `get` where the page says nothing. */
  readonly method: string;
  /** As written; undefined: where the page itself is. */
  readonly action: string | undefined;
  /** Name and value of what it sends, the field for the token aside. */
  readonly fields: readonly (readonly [string, string])[];
  /** The field that a human fills in; undefined where there is none. */
  readonly tokenField: string | undefined;
}

const FORM = /<form\b([^>]*)>(.*?)(?:<\/form\s*>|$)/gis;
const FIELD = /<(?:input|textarea)\b([^>]*)>/gi;
const ATTRIBUTE = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;
const FILLED_IN_BY_HUMANS = new Set(['password', 'text', 'search']);

/** The forms of a page in HTML. */
export function formsOf(html: string): readonly PageForm[] {
  return [...html.matchAll(FORM)].map(([, tag = '', content = '']) => {
    const form = attributesOf(tag);
    const fields = [...content.matchAll(FIELD)].map(([, field = '']) => attributesOf(field));
    const isFilledIn = (field: ReadonlyMap<string, string>): boolean =>
      FILLED_IN_BY_HUMANS.has((field.get('type') ?? 'text').toLowerCase()) && field.has('name');
    const token =
      fields.find((field) => field.get('type')?.toLowerCase() === 'password' && field.has('name')) ??
      fields.find(isFilledIn);
    return {
      method: (form.get('method') ?? 'get').toLowerCase(),
      action: form.get('action') === '' ? undefined : form.get('action'),
      fields: fields
        .filter((field) => field !== token && field.has('name'))
        .map((field) => [field.get('name') ?? '', field.get('value') ?? ''] as const),
      tokenField: token?.get('name'),
    };
  });
}

function attributesOf(tag: string): ReadonlyMap<string, string> {
  return new Map(
    [...tag.matchAll(ATTRIBUTE)].map(([, name = '', double, single, bare]) => [
      name.toLowerCase(),
      unescaped(double ?? single ?? bare ?? ''),
    ]),
  );
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '');
}
