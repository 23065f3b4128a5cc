/** How a client reaches an upstream: directly, or by the proxy. */
export interface Door {
  readonly url: string;
  /** What the client authenticates with. */
  readonly bearer: string;
}

/** A `fetch` through a door that sees what passes, and can cut a connection. */
export interface WatchedFetch {
  readonly fetch: typeof fetch;
  /** Method, status and media type of each answer, sorted: clients open streams when they please. */
  exchanges(): readonly string[];
  /** All headers and bodies that came back. */
  received(): string;
  /** How often the connection of an answer was cut. */
  cuts(): number;
  /** The next answer that brings this text ends there, as a cut connection does. */
  cutAt(text: string): void;
}

export function watchedFetch(): WatchedFetch {
  const exchanges: string[] = [];
  let received = '';
  let cutText: string | undefined;
  let cuts = 0;
  const watched = (body: ReadableStream<Uint8Array>, cut: () => void): ReadableStream<Uint8Array> => {
    const decoder = new TextDecoder();
    return body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          const text = decoder.decode(chunk, { stream: true });
          received += text;
          controller.enqueue(chunk);
          if (cutText === undefined || !text.includes(cutText)) return;
          cutText = undefined;
          cuts += 1;
          cut();
          controller.error(new TypeError('terminated'));
        },
      }),
    );
  };
  return {
    exchanges: () => exchanges.toSorted(),
    received: () => received,
    cuts: () => cuts,
    cutAt: (text) => (cutText = text),
    fetch: async (input, init) => {
      const cutter = new AbortController();
      const signal = AbortSignal.any([cutter.signal, ...(init?.signal ? [init.signal] : [])]);
      const response = await fetch(input, { ...init, signal });
      const { status, statusText, headers, body } = response;
      received += [...headers].map(([name, value]) => `${name}: ${value}\n`).join('');
      exchanges.push(`${init?.method ?? 'GET'} ${status} ${headers.get('content-type') ?? '-'}`);
      if (body === null || status === 204 || status >= 300) {
        if (body === null) return response;
        const text = await response.text();
        received += text;
        return new Response(text === '' ? null : text, { status, statusText, headers });
      }
      return new Response(
        watched(body, () => cutter.abort()),
        { status, statusText, headers },
      );
    },
  };
}
