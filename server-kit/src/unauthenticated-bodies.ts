/** The process's memory for bodies of unauthenticated requests. Once it is spent, the oldest is rejected. */
export interface UnauthenticatedBodies {
  /** @param evict called at most once, when the memory is needed; it must drop the body */
  enter(evict: () => void): Place;
}

interface Place {
  /** Sets the bytes of the body so far; may evict this body. */
  holds(bytes: number): void;
  /** Frees the memory; calling it again is harmless. */
  leave(): void;
}

const MAX_BYTES = 4 * 1024 * 1024;
/** An unfinished request without its body: connection, parser, headers. */
const REQUEST_OVERHEAD_BYTES = 8 * 1024;

/** @param maxBytes of bodies and the overhead of their requests */
export function createUnauthenticatedBodies(maxBytes: number): UnauthenticatedBodies {
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
    enter: (evict) => {
      const id = Symbol('place');
      const place = { bytes: REQUEST_OVERHEAD_BYTES, evict };
      places.set(id, place);
      taken += place.bytes;
      evictOldest();
      return {
        holds: (bytes) => {
          if (!places.has(id)) return;
          taken += REQUEST_OVERHEAD_BYTES + bytes - place.bytes;
          place.bytes = REQUEST_OVERHEAD_BYTES + bytes;
          evictOldest();
        },
        leave: () => release(id),
      };
    },
  };
}

export const unauthenticatedBodies = createUnauthenticatedBodies(MAX_BYTES);
