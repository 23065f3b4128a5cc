/** Works on a few items at a time, in any order, until there are none left. Rejects as soon as one does. */
export async function inLanes<T>(
  lanes: number,
  items: AsyncIterator<T>,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const lane = async (): Promise<void> => {
    for (let next = await items.next(); next.done !== true; next = await items.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
