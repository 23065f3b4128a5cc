import { setImmediate as nextTurn } from 'node:timers/promises';

/** One list of the document, read page by page. */
export interface ExportSection {
  readonly name: string;
  /** Items, ready to be written as JSON. */
  readonly pages: AsyncIterable<readonly object[]>;
}

/**
 * Writes an account's export as JSON: the members of `head`, then one array for each section. Each part is a page, so that an
 * account of any size needs the memory of a page, and other requests are served between two parts.
 *
 * The pages are no snapshot: an item that exists throughout is in the document once; one that is created, changed or deleted
 * meanwhile may be in it or not.
 */
export async function* exportText(head: object, sections: readonly ExportSection[]): AsyncGenerator<string> {
  yield JSON.stringify(head).slice(0, -1);
  for (const { name, pages } of sections) {
    yield `,${JSON.stringify(name)}:[`;
    let separator = '';
    for await (const page of pages) {
      if (page.length > 0) yield separator + page.map((item) => JSON.stringify(item)).join(',');
      if (page.length > 0) separator = ',';
      await nextTurn();
    }
    yield ']';
  }
  yield '}';
}
