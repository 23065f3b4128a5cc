/** By code unit, ascending: an order that does not depend on where the service runs, and for `toSorted`. */
export const compareByCodeUnit = (a: string, b: string): number => Number(a > b) - Number(a < b);
