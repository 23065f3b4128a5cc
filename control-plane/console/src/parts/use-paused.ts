import { useEffect, useState } from 'react';

const TYPING_MS = 250;

/** A text as it was when typing last paused, so that a question about it is asked once. */
export function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}
