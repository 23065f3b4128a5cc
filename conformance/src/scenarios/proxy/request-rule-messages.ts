import type { ProxiedCall } from '../../check/tools.ts';
import { json, toolCall } from './ruled-record.ts';

type Calls = Readonly<Record<string, Partial<ProxiedCall>>>;

const inJsonRpc = (members: string): Partial<ProxiedCall> => json(`{"jsonrpc":"2.0","id":1,${members}}`);

/** A call that is allowed. */
export const CALL = toolCall('get_issue');
const PARAMS = '"params":{"name":"get_issue","arguments":{}}';

/** One reading each, however they are written. */
export const ONE_READING: Calls = {
  'an id that is a text': json('{"jsonrpc":"2.0","id":"a","method":"tools/call",' + PARAMS + '}'),
  'escaped names and texts': inJsonRpc(
    String.raw`"m\u0065thod":"tools\/call","params":{"n\u0061me":"get\u005fissue"}`,
  ),
  'spaces and line ends': json(` {"jsonrpc" : "2.0",\r\n\t"id": 1, "method":"tools/call", ${PARAMS} }\n`),
  'members in another order': inJsonRpc(`${PARAMS},"method":"tools/call"`),
  'members that nobody knows': inJsonRpc(`"x":[{"method":1}],"method":"tools/call",${PARAMS}`),
  'names twice in different objects': inJsonRpc(
    '"method":"tools/call","params":{"name":"get_issue","_meta":{"name":1},"arguments":{"name":2}}',
  ),
  'a character set': json(CALL, 'application/json; charset=utf-8'),
  'a type in capitals': json(CALL, 'APPLICATION/JSON'),
};

/** Two readings each, of which one is allowed. */
export const TWO_READINGS: Calls = {
  'a batch': json(`[${CALL}]`),
  'a batch of two': json(`[${CALL},${toolCall('delete_repo')}]`),
  'two messages': json(`${CALL}\n${toolCall('delete_repo')}`),
  'no body': json(''),
  'a body that ends early': json(CALL.slice(0, -1)),
  'a method twice': inJsonRpc(`"method":"tools/call","method":"tools/list",${PARAMS}`),
  'a method twice, escaped': inJsonRpc(
    String.raw`"method":"tools/list","m\u0065thod":"tools/call",${PARAMS}`,
  ),
  'params twice': inJsonRpc(`"method":"tools/call","params":{"name":"delete_repo"},${PARAMS}`),
  'a name twice': inJsonRpc('"method":"tools/call","params":{"name":"delete_repo","name":"get_issue"}'),
  'a name twice in the arguments': inJsonRpc(
    '"method":"tools/call","params":{"name":"get_issue","arguments":{"a":[{"b":1,"b":2}]}}',
  ),
  'a method in another case': inJsonRpc(`"method":"tools/call","Method":"tools/list",${PARAMS}`),
  'a method in another case, before': inJsonRpc(`"METHOD":"resources/list","method":"tools/call",${PARAMS}`),
  'params in another case': inJsonRpc(`"method":"tools/call",${PARAMS},"Params":{"name":"delete_repo"}`),
  'params with a long s': inJsonRpc(`"method":"tools/call",${PARAMS},"param\u017f":{"name":"delete_repo"}`),
  'a version in another case': inJsonRpc(`"method":"tools/call",${PARAMS},"JSONRPC":"1.0"`),
  'an id in another case': inJsonRpc(`"method":"tools/call",${PARAMS},"ID":2`),
  'an error in another case': inJsonRpc(`"method":"tools/call",${PARAMS},"Error":{}`),
  'a result in another case': inJsonRpc(`"method":"tools/call",${PARAMS},"Result":{}`),
  'a name in another case': inJsonRpc(
    '"method":"tools/call","params":{"name":"get_issue","Name":"delete_repo"}',
  ),
  'a resource in another case': inJsonRpc('"method":"resources/read","params":{"uri":"file:///a","URI":"b"}'),
  'what is about the message in another case': inJsonRpc(
    '"method":"tools/call","params":{"name":"get_issue","_meta":{},"_Meta":{}}',
  ),
  'an id that is an object': json(`{"jsonrpc":"2.0","id":{},"method":"tools/call",${PARAMS}}`),
  'params beside a result': json('{"jsonrpc":"2.0","id":1,"params":{},"result":{}}'),
  'arguments in another case': inJsonRpc(
    '"method":"tools/call","params":{"name":"get_issue","arguments":{},"Arguments":{"a":1}}',
  ),
  'a method and a result': inJsonRpc(`"method":"tools/call",${PARAMS},"result":{}`),
  'a method and an error': inJsonRpc('"method":"ping","error":{"code":1,"message":"no"}'),
  'no version of JSON-RPC': json(`{"id":1,"method":"tools/call",${PARAMS}}`),
  'another version of JSON-RPC': json(`{"jsonrpc":"1.0","id":1,"method":"tools/call",${PARAMS}}`),
  'a method that is no text': inJsonRpc(`"method":["tools/call"],${PARAMS}`),
  'a tool whose name is no text': inJsonRpc('"method":"tools/call","params":{"name":["get_issue"]}'),
  'params that are a list': inJsonRpc('"method":"tools/call","params":["get_issue",{}]'),
  'nothing but a version': json('{"jsonrpc":"2.0","id":1}'),
  'another type': json(CALL, 'text/plain'),
  'no type': json(CALL, 'application/octet-stream'),
  'a type that only ends so': json(CALL, 'text/plain; application/json'),
  'a type that only begins so': json(CALL, 'application/json-seq'),
  'a form': json(CALL, 'application/x-www-form-urlencoded'),
  'Latin-1': json(CALL, 'application/json; charset=iso-8859-1'),
  'UTF-16 by its name': json(CALL, 'application/json; charset=utf-16'),
  'UTF-16 by its bytes': json(Buffer.from(CALL, 'utf16le')),
  'what is no UTF-8': json(Buffer.from(toolCall('get_issue', { a: 'ü' }), 'latin1')),
};
