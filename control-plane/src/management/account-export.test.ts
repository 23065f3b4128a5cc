import { expect, it } from 'vitest';
import { exportText } from './account-export.ts';

const read = async (parts: AsyncIterable<string>): Promise<unknown> => {
  let text = '';
  for await (const part of parts) text += part;
  return JSON.parse(text);
};

async function* pagesOf(...pages: readonly (readonly object[])[]): AsyncGenerator<readonly object[]> {
  yield* pages;
}

it('is one JSON document, whatever pages there are', async () => {
  const sections = [
    { name: 'none', pages: pagesOf() },
    { name: 'empty', pages: pagesOf([]) },
    { name: 'some', pages: pagesOf([], [{ n: 1 }, { n: 2 }], [], [{ n: 3 }]) },
    { name: 'a "name"\u2028', pages: pagesOf([{ text: '"\\\n</script>😀' }]) },
  ];
  expect(await read(exportText({ format: 'f', webhook: null }, sections))).toEqual({
    format: 'f',
    webhook: null,
    none: [],
    empty: [],
    some: [{ n: 1 }, { n: 2 }, { n: 3 }],
    'a "name"\u2028': [{ text: '"\\\n</script>😀' }],
  });
});

it('reads a page when the one before was taken, and none for a reader who went away', async () => {
  let pagesRead = 0;
  async function* pages(): AsyncGenerator<readonly object[]> {
    for (;;) yield [{ page: ++pagesRead }];
  }
  const parts = exportText({ format: 'f' }, [{ name: 'endless', pages: pages() }]);
  const taken: string[] = [];
  for await (const part of parts) {
    taken.push(part);
    expect(pagesRead).toBeLessThanOrEqual(taken.length);
    if (taken.length === 1_000) break;
  }
  expect(pagesRead).toBe(998);
});

it('fails where a page cannot be read: half a document does not end like a whole one', async () => {
  async function* broken(): AsyncGenerator<readonly object[]> {
    yield [{ n: 1 }];
    throw new Error('the database is away');
  }
  const parts = exportText({ format: 'f' }, [{ name: 'broken', pages: broken() }]);
  await expect(read(parts)).rejects.toThrow('the database is away');
});
