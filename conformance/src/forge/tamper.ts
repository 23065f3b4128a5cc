import type { RequestToSend } from '../http/client.ts';

/** The request with a header's value changed after it was signed; each of them, where it stands several times. */
export function withHeader(
  request: RequestToSend,
  name: string,
  change: (value: string) => string,
): RequestToSend {
  const { headers = [] } = request;
  return {
    ...request,
    headers: headers.map(([each, value]) => (each === name ? [each, change(value)] : [each, value])),
  };
}

/** The request without a header. */
export function withoutHeader(request: RequestToSend, name: string): RequestToSend {
  return { ...request, headers: (request.headers ?? []).filter(([each]) => each !== name) };
}

/** The request with one header more, behind those that it has. */
export function withAnotherHeader(request: RequestToSend, name: string, value: string): RequestToSend {
  return { ...request, headers: [...(request.headers ?? []), [name, value]] };
}

/** The value of a header that stands once. */
export function headerOf(request: RequestToSend, name: string): string {
  return request.headers?.find(([each]) => each === name)?.[1] ?? '';
}
