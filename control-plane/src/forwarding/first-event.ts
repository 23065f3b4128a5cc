/** What is known of the first event of a stream (HTML standard, section 9.2.6). */
export type FirstEvent = 'undecided' | 'endpoint' | 'other';

/** No server needs more for it: an `endpoint` event holds one address. */
const MAX_CHARACTERS = 4_096;

const LINE_END = /\r\n|\n|\r/;

/**
 * Tells from the beginning of an event stream whether its first event is `endpoint`, which opens the HTTP+SSE transport of
 * MCP revision 2024-11-05.
 *
 * @returns takes the stream's bytes as they come, and says what is known by now; it keeps 4,096 characters at most
 */
export function createFirstEventReader(): (chunk: Uint8Array) => FirstEvent {
  const decoder = new TextDecoder();
  let text = '';
  let verdict: FirstEvent = 'undecided';
  return (chunk) => {
    if (verdict !== 'undecided') return verdict;
    text += decoder.decode(chunk, { stream: true });
    verdict = firstEventOf(text.slice(0, MAX_CHARACTERS));
    if (verdict === 'undecided' && text.length >= MAX_CHARACTERS) verdict = 'other';
    return verdict;
  };
}

function firstEventOf(text: string): FirstEvent {
  // The line end of an unfinished line may still become CR LF.
  const lines = text.replace(/\r$/, '').split(LINE_END).slice(0, -1);
  let hasData = false;
  for (const line of lines) {
    if (line === '' && hasData) return 'other';
    const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (name === 'event') return value === 'endpoint' ? 'endpoint' : 'other';
    if (name === 'data') hasData = true;
  }
  return 'undecided';
}
