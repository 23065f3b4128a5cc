import { readFileSync } from 'node:fs';
import { type RequestListener, request } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { ROOT } from './command-blocks.ts';

/** Folders that the pages name, each of which is below another folder here. */
const FOLDERS =
  /\/(?:etc\/svault|etc\/systemd|opt\/svault|usr\/local\/sbin|var\/(?:backups|cache|lib)(?=\/svault))/g;

/** A machine that is a folder, for pages whose commands are for root. */
export interface MachineInFolder {
  readonly path: string;
  /** Where the programs listen, by the port that the pages show, and the TLS front. */
  readonly ports: Readonly<Record<'8080' | '8090' | '443', number>>;
}

/** The blocks of a page in one language, as they are written. */
export function blocksOf(page: string, language: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, of]) => of === language)
    .map(([, , block]) => block ?? '');
}

/**
 * What a page says, for a machine in a folder: its folders, its ports, and `localhost` as the control plane's public
 * name, since the command line looks the name up. The webhook keeps its name, which only `SV_CONNECT_TO` leads to.
 */
export const onMachine = (text: string, { path, ports }: MachineInFolder): string =>
  text
    .replaceAll(FOLDERS, (folder) => path + folder)
    .replaceAll(
      /127\.0\.0\.1:(8080|8090|443)\b/g,
      (_, port: keyof typeof ports) => `127.0.0.1:${ports[port]}`,
    )
    .replaceAll('https://svault.example.org', `https://localhost:${ports['443']}`)
    .replaceAll('svault.example.org', 'localhost');

/**
 * systemd's part, by the lines of the real units: start, stop and restart with the environment file and the command of
 * the unit. Users are left out, since only root can change them.
 */
export const preambleOf = ({ path, ports }: MachineInFolder): string => `set -euo pipefail
umask 022
here=${path}
below() { sed -E 's#/(etc/svault|opt/svault|var/(backups|cache|lib)/svault)#'"$here"'/\\1#g'; }
systemd-sysusers() { test -s "$1"; }
systemd-tmpfiles() { while read -r _ path mode _; do command install -d -m "$mode" "$here$path"; done < "$2"; }
chown() { :; }
npm() { [ "$*" = ci ] && [ -e package-lock.json ]; }
install() {
  local given=()
  while [ $# -gt 0 ]; do case $1 in -o | -g) shift 2 ;; *) given+=("$1"); shift ;; esac; done
  command install "\${given[@]}"
  # The same script, for this machine.
  case \${given[-1]} in */usr/local/sbin/) cp "$here/svault-run" "\${given[-1]}" ;; esac
}
declare -A running
unit_lines() { sed -n "s/^$2=//p" "$here/etc/systemd/system/$1" | below; }
start_service() {
  local program=\${1#svault-} log=$here/$1.log command
  mkdir -p "$here/var/lib/$1"
  command=$(unit_lines "$1.service" ExecStart)
  (set -a; . "$here/etc/svault/$program/env"; set +a; cd "$here/var/lib/$1"; umask 077; exec $command) >> "$log" 2>&1 &
  running[$1]=$!
  until command curl -fsS -o /dev/null "http://127.0.0.1:$([ "$program" = webhook ] && echo ${ports['8090']} || echo ${ports['8080']})/readyz" 2> /dev/null
  do kill -0 "\${running[$1]}" || { cat "$log"; return 1; }; sleep 0.1; done
}
stop_service() { [ -z "\${running[$1]-}" ] || { kill "\${running[$1]}"; wait "\${running[$1]}"; unset "running[$1]"; }; }
run_oneshot() {
  local program=\${1#svault-backup@} unit=svault-backup@.service line
  (set -a; . "$here/etc/svault/$program/env"; set +a; cd "$here/var/lib/svault-$program"; set -f
  eval "$(unit_lines $unit Environment)"
  { unit_lines $unit ExecStart; unit_lines $unit ExecStartPost; } | sed "s/%i/$program/g; s/%%/%/g"';s/[$][$]/$/g' > "$here/lines"
  while read -r line; do eval "$line" < /dev/null; done < "$here/lines")
}
systemctl() {
  local verb=$1 unit; shift
  [ "\${1-}" != --now ] || shift
  for unit in "$@"; do case $verb:$unit in
    *.timer) test -f "$here/etc/systemd/system/$unit" ;;
    *:svault-backup@*) run_oneshot "$unit" ;;
    enable:* | start:*) start_service "$unit" ;;
    stop:*) stop_service "$unit" ;;
    restart:*) stop_service "$unit"; start_service "$unit" ;;
  esac; done
}
trap 'for each in "\${!running[@]}"; do kill "\${running[$each]}"; done; wait' EXIT
`;

/** `svault-run` as it is shipped, for this machine, without the change of user. */
export const svaultRunOn = (machine: MachineInFolder): string =>
  onMachine(readFileSync(join(ROOT, 'compose/systemd/svault-run'), 'utf8'), machine).replace(
    /exec setpriv .*\\\n/,
    'exec \\\n',
  );

/**
 * Terminates TLS as the page's Caddyfile does: each name goes to its `reverse_proxy`, with `Host` as it was. It shows what
 * is in `front.pem` at the time of a connection.
 *
 * @param caddyfile for the machine
 * @param folder of `front.key` and `front.pem`
 */
export function tlsFront(caddyfile: string, folder: string) {
  const sites = new Map(
    [...caddyfile.matchAll(/^(\S+) \{\n\treverse_proxy (\S+)/gm)].map(([, name = '', to = '']) => [name, to]),
  );
  const forward: RequestListener = (req, res) => {
    const { method, url: path, headers } = req;
    const to = sites.get((headers.host ?? '').replace(/:\d+$/, ''));
    if (to === undefined) return void res.writeHead(421).end();
    const [host, port] = to.split(':');
    const forwarded = request({ host, port, method, path, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    forwarded.on('error', () => res.writeHead(502).end());
    req.pipe(forwarded);
  };
  const identity = () => {
    const [key, cert] = ['front.key', 'front.pem'].map((name) => readFileSync(join(folder, name), 'utf8'));
    return createSecureContext({ key, cert });
  };
  return {
    names: [...sites.keys()],
    server: createServer({ SNICallback: (_, done) => done(null, identity()) }, forward),
  };
}
