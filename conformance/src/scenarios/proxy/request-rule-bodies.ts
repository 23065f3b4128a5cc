import type { ProxiedCall } from '../../check/tools.ts';
import { json } from './ruled-record.ts';

const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data; boundary=x';
const part = (name: string): string =>
  `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nDELETE\r\n--x--\r\n`;
/** A call with a form in its body. */
export const form = (body: string, type = FORM): Partial<ProxiedCall> => json(body, type);

/** Bodies that name another method. */
export const OTHER_METHOD: Readonly<Record<string, Partial<ProxiedCall>>> = {
  'a form with _method': form('_method=DELETE'),
  'a form with _method behind others': form('a=1&b=2&_method=PUT', `${FORM}; charset=UTF-8`),
  'a form with an encoded _method': form('%5Fmethod=DELETE'),
  'a form in capitals': form('_method=DELETE', 'Application/X-WWW-Form-Urlencoded'),
  'a form with $httpMethod': form('$httpMethod=DELETE'),
  'JSON with $httpMethod': json('{"$httpMethod":"DELETE"}'),
  'JSON with _method': json('{"a":1,"_method":"DELETE"}'),
  'JSON with an escaped _method': json(
    String.raw`{"\u005fmethod":"DELETE"}`,
    'application/json; charset=utf-8',
  ),
  'a form of parts with _method': form(part('_method'), MULTIPART),
  'a form of parts in small letters': form(part('_method').toLowerCase(), MULTIPART),
};
/** Bodies that do not. */
export const SAME_METHOD: Readonly<Record<string, Partial<ProxiedCall>>> = {
  'a form with method': form('method=DELETE&a=_method'),
  'JSON with method': json('{"method":"DELETE","a":"_method"}'),
  'a form of parts with another name': form(part('verb'), MULTIPART),
  'a file called _method': form(part('verb"; filename="_method'), MULTIPART),
  'a list of JSON': json('[1,2]'),
  'text with _method': form('_method=DELETE', 'text/plain'),
  'no body': {},
};
