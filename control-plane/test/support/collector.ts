import { once } from 'node:events';
import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A span as OTLP/HTTP has it in JSON. */
export interface ExportedSpan {
  /** `service.name` of its resource. */
  readonly program: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: 'server' | 'client';
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A collector of OTLP/HTTP with JSON. */
export interface Collector {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: () => readonly ExportedSpan[];
  /** Every body that arrived. */
  readonly bytes: () => Buffer;
  readonly requests: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  close(): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}
interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ExportedSpan, 'program' | 'kind' | 'attributes'> & {
        readonly kind: number;
        readonly attributes: readonly Attribute[];
      })[];
    }[];
  }[];
}

/** @param answer what follows each request that arrived; a success unless given */
export async function startCollector(
  answer: (res: ServerResponse) => void = (res) =>
    void res.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
): Promise<Collector> {
  const bodies: Buffer[] = [];
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((req, res) => {
    requests.push({ path: req.url ?? '', headers: req.headers });
    void buffer(req).then((body) => {
      bodies.push(body);
      answer(res);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => bodies.flatMap((body) => spansIn(JSON.parse(body.toString()) as Exported)),
    bytes: () => Buffer.concat(bodies),
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** OpenTelemetry protocol, `SpanKind`. */
const KINDS = new Map([
  [2, 'server'],
  [3, 'client'],
] as const);

const spansIn = ({ resourceSpans }: Exported): ExportedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ traceId, spanId, parentSpanId, name, kind, attributes }) => ({
        ...{ traceId, spanId, parentSpanId, name },
        program: String(recordOf(resource.attributes)['service.name']),
        kind: KINDS.get(kind as 2 | 3) ?? fail(kind),
        attributes: recordOf(attributes),
      })),
    ),
  );

const recordOf = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

function fail(kind: number): never {
  throw new Error(`a span of the kind ${kind}`);
}
