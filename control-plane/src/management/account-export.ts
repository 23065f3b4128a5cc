import { setImmediate as nextTurn } from 'node:timers/promises';

/** One list of the document, read page by page. */
export interface ExportSection {
  readonly name: string;
  /** What is shown of each thing, ready to be written as JSON. */
  readonly pages: AsyncIterable<readonly object[]>;
}

/**
 * The JSON text of an account's export in parts of a page each, so that an account of any size costs the memory of a
 * page: `head`'s members, then one array for each section. Between two parts others are served.
 *
 * The pages are read one after the other and not at one moment. What is there from beginning to end is in the document
 * once, as it was at some moment between; what is made, changed or deleted meanwhile may be in it or not.
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
