const MAX_BYTES = 4 * 1024 * 1024;
/** An unfinished request without its body: connection, parser, headers. */
const REQUEST_OVERHEAD_BYTES = 8 * 1024;

/**
 * The process's memory for bodies of unauthenticated requests. Once it is spent, the oldest is rejected.
 * @param maxBytes of bodies and the overhead of their requests
 */
export function createUnauthenticatedBodies(maxBytes: number) {
  /** Oldest first. */
  const places = new Map<symbol, { bytes: number; readonly evict: () => void }>();
  let taken = 0;

  const release = (id: symbol): void => {
    taken -= places.get(id)?.bytes ?? 0;
    places.delete(id);
  };
  const evictOldest = (): void => {
    for (const [id, { evict }] of places) {
      if (taken <= maxBytes) return;
      release(id);
      evict();
    }
  };

  return {
    /** @param evict called at most once, when the memory is needed; it must drop the body */
    enter: (evict: () => void) => {
      const id = Symbol('place');
      const place = { bytes: REQUEST_OVERHEAD_BYTES, evict };
      places.set(id, place);
      taken += place.bytes;
      evictOldest();
      return {
        /** Sets the bytes of the body so far; may evict this body. */
        holds: (bytes: number): void => {
          if (!places.has(id)) return;
          taken += REQUEST_OVERHEAD_BYTES + bytes - place.bytes;
          place.bytes = REQUEST_OVERHEAD_BYTES + bytes;
          evictOldest();
        },
        /** Frees the memory; calling it again is harmless. */
        leave: (): void => release(id),
      };
    },
  };
}

export type UnauthenticatedBodies = ReturnType<typeof createUnauthenticatedBodies>;

export const unauthenticatedBodies = createUnauthenticatedBodies(MAX_BYTES);
