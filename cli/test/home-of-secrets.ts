import { chmodSync, lstatSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';

/** Values of a home folder, by where they are. None may be shown. */
export const VALUES = {
  envToken: 'tok_Vb7mQ2xK9pLd4RtY8wZc',
  envDatabase: 'postgres://shop:Jh4kPz9Qm2Wx7Tn5@db.example.com/shop',
  envPrivateKey: 'first line of Kq8Zt3Wm6Rx\nsecond line of Bn5Yc2Vd9Lf',
  envLocal: 'tok_Hs6Df3Gk1Lz8Xc5Vb2Nm',
  cursorHeader: 'mcpkey-Pw3Er7Ty2Ui9Op5As8',
  vscodeHeader: 'mcpkey-Zx4Cv6Bn1Mq8We3Rt7',
  claudeHeader: 'mcpkey-Qa9Ws2Ed5Rf8Tg1Yh4',
  projectHeader: 'mcpkey-Ui7Jk3Ol6Pm9Nb2Vc5',
  desktopEnv: 'tok_Gt5Hy8Ju2Ki7Lo4Mn9Bv',
  awsKeyId: 'AKIAQ7W3E9R5T1Y8U2I6',
  awsSecret: 'wJ4rX+tF7nE/9mK2gL5bP8xR3fI6CYz1Qh0sUvDa',
  awsSession: 'Fw9oGZ3XIvYXdzE8aDK5q2Wm7Xt4Rb6Ny1Pc0LsH',
  gh: 'gho_Nq5Wd8Kx2Zj7Vc4Bm1Lt9Ry6Hp3Gf0Sa',
  ghOther: 'gho_Rt8Yk3Mv6Xb1Qz9Nc4Wj7Ld2Hs5Pg0Fe',
  netrc: 'Tz6Lm2Wq9Xr4Vn7Kb1Jc',
  netrcDefault: 'Yb3Qf8Hw5Nk1Zt6Mv9Xd',
  netrcMacro: 'Xm7Rp2Cz5Gt8Lw1Vq4Kn',
  npm: 'npm_Kd4Wz7Xr2Qn9Vb5Tm8Lc1Hj6Pf3Gs0Ya',
  npmAuth: 'YWRhOlB4OFF6M1ZrN01iMkxuNQ==',
} as const;

/** A home folder with a project in it, with samples of each kind. */
export interface HomeOfSecrets {
  readonly home: string;
  readonly project: string;
  remove(): void;
}

/** @param upstream address of an MCP server; the path is `/NAME` for each of the configurations */
export function homeOfSecrets(upstream: string): HomeOfSecrets {
  const dir = tempDir();
  const home = join(dir.path, 'home');
  const project = join(home, 'work/Shop');
  const server = (path: string, value: string, more: object = {}) => ({
    url: `${upstream}/${path}`,
    headers: { Authorization: `Bearer ${value}` },
    ...more,
  });
  const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
  const files: Readonly<Record<string, string>> = {
    'work/Shop/.env': [
      '# a comment with API_TOKEN=of-nothing',
      'PORT=8080',
      'NODE_ENV=production',
      'BASE_URL=https://shop.example.com',
      `export API_TOKEN='${VALUES.envToken}' # behind it`,
      `DATABASE_URL=${VALUES.envDatabase}`,
      'SESSION_SECRET=changeme',
      'MAIL_PASSWORD=${VAULT_PASSWORD}',
      `SIGNING_KEY="${VALUES.envPrivateKey}"`,
      '',
    ].join('\r\n'),
    'work/Shop/.env.local': `API_TOKEN=${VALUES.envLocal}\n`,
    'work/Shop/.env.example': `API_TOKEN=not_Aa1Bb2Cc3Dd4Ee5Ff6\n`,
    'work/Shop/.vscode/mcp.json': [
      '{',
      '  // servers of this project',
      '  "inputs": [{ "type": "promptString", "id": "token", "password": true }],',
      '  "servers": {',
      `    "docs": { "type": "http", "url": "${upstream}/vscode", "headers": { "Authorization": "Bearer ${VALUES.vscodeHeader}" } }, // by token`,
      `    "asks": { "type": "http", "url": "${upstream}/asks", "headers": { "Authorization": "Bearer \${input:token}" } },`,
      '  },',
      '}',
      '',
    ].join('\r\n'),
    'work/Shop/.mcp.json': json({ mcpServers: { tracker: server('project', VALUES.projectHeader) } }),
    '.cursor/mcp.json': json({
      mcpServers: {
        docs: server('cursor', VALUES.cursorHeader, { disabled: false }),
        open: { url: `${upstream}/open` },
      },
      other: [1, 2],
    }),
    '.claude.json': json({
      history: ['something else'],
      projects: {
        [project]: { mcpServers: { notes: server('claude', VALUES.claudeHeader, { type: 'http' }) } },
      },
    }),
    '.config/Claude/claude_desktop_config.json': json({
      mcpServers: {
        slack: {
          command: 'npx',
          args: ['-y', 'slack-server'],
          env: { SLACK_TOKEN: VALUES.desktopEnv, LOG_LEVEL: 'debug' },
        },
      },
    }),
    '.aws/credentials': [
      '[default]',
      `aws_access_key_id = ${VALUES.awsKeyId}`,
      `aws_secret_access_key = ${VALUES.awsSecret}`,
      '',
      '[sso]',
      'aws_access_key_id = ASIAQ7W3E9R5T1Y8U2I6',
      `aws_secret_access_key = ${VALUES.awsSession}`,
      'aws_session_token = short-lived',
      '',
    ].join('\n'),
    '.config/gh/hosts.yml': [
      'github.com:',
      '    user: ada',
      `    oauth_token: ${VALUES.gh}`,
      '    users:',
      '        ada:',
      `            oauth_token: ${VALUES.gh}`,
      '        grace:',
      `            oauth_token: ${VALUES.ghOther}`,
      '    git_protocol: https',
      '',
    ].join('\n'),
    '.netrc': [
      '# machine commented password nothing',
      `machine files.example.com login ada`,
      `  password ${VALUES.netrc}`,
      'macdef upload',
      `  machine macro.example.com password ${VALUES.netrcMacro}`,
      '',
      `default login anonymous password ${VALUES.netrcDefault}`,
      '',
    ].join('\n'),
    '.npmrc': [
      `//registry.npmjs.org/:_authToken=${VALUES.npm}`,
      '//other.example.com/:_authToken=${NPM_TOKEN}',
      `//npm.example.com:8443/team/:_auth = "${VALUES.npmAuth}"`,
      'fund=false',
      '',
    ].join('\n'),
  };
  for (const [path, text] of Object.entries(files)) {
    const file = join(home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, path === '.netrc' ? 0o600 : 0o644);
  }
  return { home, project, remove: () => dir.remove() };
}

/** Everything below a folder: mode, time of the last change, and bytes. */
export function treeOf(folder: string): ReadonlyMap<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name);
    const { mode, mtimeMs } = lstatSync(path);
    const content = entry.isFile() ? readFileSync(path, 'latin1') : '';
    return [path, `${mode} ${mtimeMs} ${content}`] as const;
  });
  return new Map(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
