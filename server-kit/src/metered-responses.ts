import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { CALL_SECONDS, type Labels, counter, histogram } from './meters.ts';

/** The statuses of responses; `none`: the client went away before one was sent. */
const STATUSES = [
  ...[
    'none',
    '200',
    '201',
    '202',
    '204',
    '302',
    '303',
    '304',
    '307',
    '400',
    '401',
    '403',
    '404',
    '405',
    '406',
  ],
  ...['409', '413', '415', '422', '423', '429', '500', '502', '503', '504', 'other'],
];

/** @param prefix of the program's metrics @param endpoints the values of the label, `other` among them */
export const responseMetrics = (prefix: string, endpoints: readonly string[]) => ({
  responses: counter(`${prefix}_responses_total`, 'Responses by endpoint and status', {
    endpoint: endpoints,
    status: STATUSES,
  }),
  responseSeconds: histogram(
    `${prefix}_response_seconds`,
    'From the head of a request until that of its response',
    { endpoint: endpoints },
    CALL_SECONDS,
  ),
});

/**
 * Counts and times responses.
 *
 * @param options.endpointOf of a path without its query
 */
export function meterResponses(
  listener: RequestListener,
  options: {
    readonly endpointOf: (path: string) => string;
    readonly responses: (labels: Labels<'endpoint' | 'status'>) => void;
    readonly responseSeconds: (labels: Labels<'endpoint'>, seconds: number) => void;
  },
): RequestListener {
  const { endpointOf, responses, responseSeconds } = options;
  return (req: IncomingMessage, res: ServerResponse) => {
    const endpoint = endpointOf((req.url ?? '').split('?', 1)[0] ?? '');
    const startedMs = performance.now();
    const writeHead = res.writeHead.bind(res) as (...head: unknown[]) => ServerResponse;
    // Node calls it for each response, its own too.
    res.writeHead = (...head: unknown[]) => {
      responseSeconds({ endpoint }, (performance.now() - startedMs) / 1000);
      return writeHead(...head);
    };
    res.once('close', () =>
      responses({ endpoint, status: res.headersSent ? String(res.statusCode) : 'none' }),
    );
    listener(req, res);
  };
}
