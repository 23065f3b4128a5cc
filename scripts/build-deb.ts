/**
 * `npm run build:deb [FOLDER]`: builds the Debian package of both programs, the command line and their units into FOLDER or dist/, for
 * the architecture of this machine, and prints its path. Two builds of the same sources are the same, byte for byte:
 * SOURCE_DATE_EPOCH, or else the time of the last commit, is the time of every file.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  globSync,
  lutimesSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ROOT, readPublishedManifest } from './packing/pack.ts';
import { PROGRAMS, buildProgram, copyInstalled } from './packing/program.ts';

const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };

const COPYRIGHT = `svault is licensed under the Apache License, version 2.0: /usr/share/common-licenses/Apache-2.0

Licenses of what comes with it are in /opt/svault/current: of packages in their folders below node_modules, of code in the
programs in their THIRD-PARTY-LICENSES.txt, of Node.js in node_modules/node/LICENSE.
`;

const { version, description } = readJson('package.json') as { version: string; description: string };
const architecture = ARCHITECTURES[process.arch];
if (architecture === undefined) throw new Error(`no package is built for ${process.arch}`);

const into = resolve(process.argv[2] ?? 'dist');
mkdirSync(into, { recursive: true });
const work = mkdtempSync(join(into, '.deb-'));
try {
  console.log(await buildDeb());
} finally {
  rmSync(work, { recursive: true, force: true });
}

async function buildDeb(): Promise<string> {
  const root = join(work, 'root');
  await stageProgram(join(root, 'opt/svault', version));
  symlinkSync(version, join(root, 'opt/svault/current'));
  stageSystem(root);
  stageControl(root);
  const time = sourceTime();
  for (const path of [...pathsIn(root), '.']) normalise(join(root, path), time);
  const built = join(work, 'svault.deb');
  execFileSync(
    'dpkg-deb',
    ['--root-owner-group', '--threads-max=1', '-Zzstd', '-z10', '--build', root, built],
    {
      env: { ...process.env, SOURCE_DATE_EPOCH: String(time) },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const target = join(into, `svault_${debianVersion()}_${architecture}.deb`);
  renameSync(built, target);
  return target;
}

/** dpkg takes what follows a hyphen for its own revision, and sorts `~` before the release. */
function debianVersion(): string {
  return version.replace('-', '~');
}

/** The folder of a version, which also runs anywhere else. */
async function stageProgram(folder: string): Promise<void> {
  for (const name of PROGRAMS) {
    await buildProgram(name, join(folder, name, 'dist'));
    copy(`${name}/package.json`, join(folder, name, 'package.json'));
  }
  copyInstalled(folder);
  const site = join(folder, 'control-plane/console/dist/site');
  run(
    'vite',
    ['build', '--logLevel', 'warn', '--emptyOutDir', '--outDir', site],
    join(ROOT, 'control-plane/console'),
  );
  const cli = join(folder, 'cli');
  run('node', [join(ROOT, 'cli/scripts/build-package.ts'), cli], ROOT);
  writeFileSync(join(cli, 'package.json'), `${JSON.stringify(readPublishedManifest('cli'), null, 2)}\n`);
  run('sh', [join(ROOT, 'compose/images/remove-unused.sh'), folder], ROOT);
  stageNode(join(folder, 'node_modules'));
  copy('compose/debian/svault', join(folder, 'svault'));
  copy('LICENSE', join(folder, 'LICENSE'));
}

function stageNode(modules: string): void {
  const installed = realpathSync(join(ROOT, 'node_modules/node/bin/node'));
  copy(installed, join(modules, 'node/bin/node'));
  const [license = ''] = globSync('node_modules/node/node_modules/*/LICENSE', { cwd: ROOT });
  copy(license, join(modules, 'node/LICENSE'));
  mkdirSync(join(modules, '.bin'));
  symlinkSync('../node/bin/node', join(modules, '.bin/node'));
}

/** Units, users, folders and commands of the machine. */
function stageSystem(root: string): void {
  const units = join(ROOT, 'compose/systemd');
  for (const name of readdirSync(units))
    if (/\.(?:service|timer|service\.d)$/.test(name))
      copy(join(units, name), join(root, 'usr/lib/systemd/system', name));
  for (const name of ['sysusers.d', 'tmpfiles.d']) copy(join(units, name), join(root, 'usr/lib', name));
  copy(join(units, 'svault-run'), join(root, 'usr/sbin/svault-run'));
  mkdirSync(join(root, 'usr/bin'));
  symlinkSync('/opt/svault/current/svault', join(root, 'usr/bin/svault'));
  const docs = join(root, 'usr/share/doc/svault');
  copy('CHANGELOG.md', join(docs, 'CHANGELOG.md'));
  writeFileSync(join(docs, 'copyright'), COPYRIGHT);
}

function stageControl(root: string): void {
  const files = pathsIn(root).filter((path) => lstatSync(join(root, path)).isFile());
  const bytes = files.reduce((sum, path) => sum + lstatSync(join(root, path)).size, 0);
  const sums = files.map(
    (path) =>
      `${createHash('md5')
        .update(readFileSync(join(root, path)))
        .digest('hex')}  ${path}\n`,
  );
  const control = join(root, 'DEBIAN');
  mkdirSync(control);
  writeFileSync(join(control, 'md5sums'), sums.join(''));
  for (const name of ['postinst', 'prerm', 'postrm']) copy(`compose/debian/${name}`, join(control, name));
  writeFileSync(
    join(control, 'control'),
    `Package: svault
Version: ${debianVersion()}
Architecture: ${architecture}
Maintainer: The svault maintainers <maintainers@svault.invalid>
Installed-Size: ${Math.ceil(bytes / 1024)}
Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6, init-system-helpers, systemd (>= 249), util-linux
Recommends: ca-certificates, openssl
Section: admin
Priority: optional
Description: ${description}
 Node.js, both programs, the command line, and units of systemd with a sandbox.
 Installing starts nothing and makes no keys.
`,
  );
}

/** Everything below a folder, in one order whatever the disk's is; links are not followed. */
function pathsIn(folder: string, below = ''): readonly string[] {
  const entries = readdirSync(join(folder, below), { withFileTypes: true });
  return entries
    .flatMap((entry) => {
      const path = join(below, entry.name);
      return entry.isDirectory() ? [path, ...pathsIn(folder, path)] : [path];
    })
    .toSorted();
}

/** Whatever the builder's umask and clock are. */
function normalise(path: string, time: number): void {
  const stat = lstatSync(path);
  if (!stat.isSymbolicLink())
    chmodSync(path, stat.isDirectory() || (stat.mode & 0o100) !== 0 ? 0o755 : 0o644);
  lutimesSync(path, time, time);
}

function sourceTime(): number {
  const given = process.env['SOURCE_DATE_EPOCH'];
  return Number(given ?? execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' }));
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(resolve(ROOT, from), to, { recursive: true });
}

function run(command: string, words: readonly string[], cwd: string): void {
  const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}`;
  execFileSync(command, words, {
    cwd,
    env: { ...process.env, PATH },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
}
