/** The folder of the frozen vectors, in the sources as in the published packages: beside the folder of the code. */
export const VECTORS = new URL('../vectors/', import.meta.url);
