import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkpointText, createCosignerKey, createLogKey } from '@svault/shared/audit-chain';
import { type Finished, mustRun, run } from '@svault/test-kit/run-program';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, expect, it } from 'vitest';

/** Prints the text of a note that the key signed, by the package that checks Go's own transparency log. */
const VERIFY = `package main

import (
	"fmt"
	"os"

	"svault.example/verify/note"
)

func main() {
	verifier, err := note.NewVerifier(os.Args[1])
	if err == nil {
		var opened *note.Note
		opened, err = note.Open([]byte(os.Args[2]), note.VerifierList(verifier))
		if err == nil {
			fmt.Print(opened.Text, len(opened.UnverifiedSigs))
			return
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
`;

const dir = tempDir();
afterAll(() => dir.remove());
beforeAll(async () => {
  const goRoot = await mustRun(['go', 'env', 'GOROOT']);
  mkdirSync(join(dir.path, 'note'));
  // The toolchain has the source of golang.org/x/mod, so that nothing is downloaded.
  await mustRun([
    'cp',
    join(goRoot, 'src/cmd/vendor/golang.org/x/mod/sumdb/note/note.go'),
    join(dir.path, 'note'),
  ]);
  writeFileSync(join(dir.path, 'go.mod'), 'module svault.example/verify\n\ngo 1.21\n');
  writeFileSync(join(dir.path, 'main.go'), VERIFY);
  await mustRun(['go', 'build', '-o', 'verify', '.'], { cwd: dir.path });
});

const opened = (vkey: string, note: string): Promise<Finished> => run([join(dir.path, 'verify'), vkey, note]);

const origin = 'svault.example:8443/vlt_AAAAAAAAAAAAAAAAAAAAAA';

it('Go’s golang.org/x/mod/sumdb/note opens a checkpoint that the control plane signed and the webhook cosigned', async () => {
  const { vkey, sign } = createLogKey(origin, randomBytes(32));
  const text = checkpointText({ origin, size: 12_345, hash: randomBytes(32).toString('hex') });
  const { cosign } = createCosignerKey('hook.example', randomBytes(32));
  const note = `${text}\n${sign(text)}${cosign(text, Date.now())}`;
  expect(await opened(vkey, note)).toMatchObject({ code: 0, stdout: `${text}1` });
});

it('Go’s golang.org/x/mod/sumdb/note opens no checkpoint with another size or of another key', async () => {
  const { vkey, sign } = createLogKey(origin, randomBytes(32));
  const text = checkpointText({ origin, size: 2, hash: randomBytes(32).toString('hex') });
  const note = `${text}\n${sign(text)}`;
  expect(await opened(vkey, note.replace('\n2\n', '\n3\n'))).toMatchObject({ code: 1, stdout: '' });
  const other = createLogKey(origin, randomBytes(32));
  expect(await opened(other.vkey, note)).toMatchObject({ code: 1, stdout: '' });
});
