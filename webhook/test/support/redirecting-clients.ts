/** HTTP clients that nobody here wrote, and what each does with `Authorization` when a redirect leaves the origin. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Headers = Readonly<Record<string, string>>;

/** Where a redirect leads, as seen from the address that was called. */
export type Elsewhere = 'another port' | 'another host';

export interface RedirectingClient {
  readonly name: string;
  /** Exits with 0 where the client can be used. */
  readonly probe: readonly string[];
  /** Makes what is run, in a folder of its own. */
  readonly build?: (folder: string) => readonly string[];
  /** Fetches the address, follows redirects and prints the body. */
  readonly command: (url: string, headers: Headers, folder: string) => readonly string[];
  /** Where `Authorization` goes along; `by release`: newer ones drop it. */
  readonly keepsAuthorization: readonly Elsewhere[] | 'by release';
}

const NODE = `
  const answer = await fetch(process.argv[1], { headers: JSON.parse(process.argv[2]) });
  process.stdout.write(await answer.text());`;
const URLLIB = `
import json, sys, urllib.request
request = urllib.request.Request(sys.argv[1], headers=json.loads(sys.argv[2]))
sys.stdout.write(urllib.request.urlopen(request).read().decode())`;
const REQUESTS = `
import json, sys, requests
sys.stdout.write(requests.get(sys.argv[1], headers=json.loads(sys.argv[2])).text)`;
const GO = `package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
)

func main() {
	request, err := http.NewRequest("GET", os.Args[1], nil)
	var headers map[string]string
	if err == nil {
		err = json.Unmarshal([]byte(os.Args[2]), &headers)
	}
	if err != nil {
		panic(err)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	io.Copy(os.Stdout, answer.Body)
}
`;
/** Arguments: the class to fetch with, the address, then header names and values in turn. */
const JAVA = `
import java.net.*;
import java.net.http.*;

public class Fetch {
  public static void main(String[] args) throws Exception {
    String body = args[0].equals("HttpClient") ? byClient(args) : byConnection(args);
    System.out.print(body);
  }

  static String byClient(String[] args) throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(args[1]));
    for (int at = 2; at < args.length; at += 2) request.header(args[at], args[at + 1]);
    HttpClient client = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();
    return client.send(request.build(), HttpResponse.BodyHandlers.ofString()).body();
  }

  static String byConnection(String[] args) throws Exception {
    URLConnection connection = URI.create(args[1]).toURL().openConnection();
    for (int at = 2; at < args.length; at += 2) connection.setRequestProperty(args[at], args[at + 1]);
    return new String(connection.getInputStream().readAllBytes());
  }
}
`;

const lines = (headers: Headers): readonly string[] =>
  Object.entries(headers).map(([name, value]) => `${name}: ${value}`);

const file = (folder: string, name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const python = (name: string, program: string, keeps: readonly Elsewhere[]): RedirectingClient => ({
  name: `${name} of Python`,
  probe: ['python3', '-c', `import ${name}`],
  command: (url, headers) => ['python3', '-c', program, url, JSON.stringify(headers)],
  keepsAuthorization: keeps,
});

const java = (
  name: 'HttpClient' | 'HttpURLConnection',
  keepsAuthorization: RedirectingClient['keepsAuthorization'],
): RedirectingClient => ({
  name: `${name} of Java`,
  probe: ['javac', '-version'],
  build: (folder) => ['javac', '-d', folder, file(folder, 'Fetch.java', JAVA)],
  command: (url, headers, folder) => [
    'java',
    '-cp',
    folder,
    'Fetch',
    name,
    url,
    ...Object.entries(headers).flat(),
  ],
  keepsAuthorization,
});

/** docs/security.md, "Redirects and keys", names what stands here. */
export const CLIENTS: readonly RedirectingClient[] = [
  {
    name: 'curl -L',
    probe: ['curl', '--version'],
    command: (url, headers) => ['curl', '-q', '-sSL', ...lines(headers).flatMap((line) => ['-H', line]), url],
    keepsAuthorization: [],
  },
  {
    name: 'wget',
    probe: ['wget', '--version'],
    command: (url, headers) => [
      'wget',
      '--no-config',
      '-qO-',
      ...lines(headers).map((line) => `--header=${line}`),
      url,
    ],
    keepsAuthorization: ['another port', 'another host'],
  },
  {
    name: 'fetch of Node',
    probe: [process.execPath, '--version'],
    command: (url, headers) => [
      process.execPath,
      '--input-type=module',
      '-e',
      NODE,
      url,
      JSON.stringify(headers),
    ],
    keepsAuthorization: [],
  },
  python('urllib', URLLIB, ['another port', 'another host']),
  python('requests', REQUESTS, []),
  {
    name: 'net/http of Go',
    probe: ['go', 'version'],
    build: (folder) => ['go', 'build', '-o', join(folder, 'fetch'), file(folder, 'main.go', GO)],
    command: (url, headers, folder) => [join(folder, 'fetch'), url, JSON.stringify(headers)],
    // And to subdomains of the host, which no test of one machine has.
    keepsAuthorization: ['another port'],
  },
  java('HttpURLConnection', []),
  java('HttpClient', 'by release'),
];

export const isInstalled = ({ probe: [program = '', ...args] }: RedirectingClient): boolean =>
  spawnSync(program, args, { stdio: 'ignore' }).status === 0;

/** Makes what a client runs. @returns its folder */
export function built({ build }: RedirectingClient): string {
  const folder = mkdtempSync(join(tmpdir(), 'redirecting-client-'));
  const [program, ...args] = build?.(folder) ?? [];
  if (program === undefined) return folder;
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} could not build a client: ${stderr}`);
  return folder;
}
