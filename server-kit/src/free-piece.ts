/**
 * Frees the memory of a piece that is no part of a larger one; the piece is empty from then on. Node copies what it reads
 * into memory that waits for a garbage collection: some hundred refused clients would hold tens of MiB until then.
 */
export function freePiece({ buffer, byteLength }: Buffer): void {
  if (buffer.byteLength === byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
