/**
 * Room for bodies of senders of whom nothing is known yet, in all of the process. When it is full the one who has been in it
 * longest has to go: who means to be served sends a body right behind its head and is not there for long, so that nobody
 * is kept out by others who leave theirs unfinished.
 */
export interface StrangersRoom {
  /** @param leave called at most once, when the place is needed; it must drop what it holds */
  enter(leave: () => void): Place;
}

interface Place {
  /** How many bytes of the body are there by now. May end this very place. */
  holds(bytes: number): void;
  /** Gives the place back; again is harmless. */
  leave(): void;
}

const MAX_BYTES = 4 * 1024 * 1024;
/** What an unfinished request costs beside the body's bytes: its connection, its parser, its headers. */
const BYTES_OF_A_REQUEST = 8 * 1024;

/** @param maxBytes of bodies and of what is counted for each request beside them */
export function createStrangersRoom(maxBytes: number): StrangersRoom {
  /** In the order in which they came. */
  const places = new Map<symbol, { bytes: number; readonly leave: () => void }>();
  let taken = 0;

  const giveBack = (id: symbol): void => {
    taken -= places.get(id)?.bytes ?? 0;
    places.delete(id);
  };
  const makeRoom = (): void => {
    for (const [id, { leave }] of places) {
      if (taken <= maxBytes) return;
      giveBack(id);
      leave();
    }
  };

  return {
    enter: (leave) => {
      const id = Symbol('place');
      const place = { bytes: BYTES_OF_A_REQUEST, leave };
      places.set(id, place);
      taken += place.bytes;
      makeRoom();
      return {
        holds: (bytes) => {
          if (!places.has(id)) return;
          taken += BYTES_OF_A_REQUEST + bytes - place.bytes;
          place.bytes = BYTES_OF_A_REQUEST + bytes;
          makeRoom();
        },
        leave: () => giveBack(id),
      };
    },
  };
}

/** The one of this process. */
export const strangersRoom = createStrangersRoom(MAX_BYTES);
