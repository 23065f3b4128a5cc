import { describe, expect, it } from 'vitest';
import { checkpointOrigin, checkpointText, readCheckpoint } from './checkpoint.ts';
import { createCosignerKey, createLogKey, isSignedBy, readNoteKey } from './note-key.ts';

const ORIGIN = 'svault.example/vlt_AAAAAAAAAAAAAAAAAAAAAA';
const COSIGNER = 'hook.example:8443';
const HASH = '68650d77ea8519b5d9f1c68c664385304b5a3aafbd0e29f0c7ba75ef49628647';
const logKey = createLogKey(ORIGIN, new Uint8Array(32).fill(1));
const cosignerKey = createCosignerKey(COSIGNER, new Uint8Array(32).fill(2));

/** Made of the same keys with golang.org/x/mod/sumdb/note 0.43.0 and github.com/transparency-dev/formats/note 0.1.1. */
const GO = {
  logKey: `${ORIGIN}+c9f1240b+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c`,
  cosignerKeyId: '43aa48dc',
  text: `${ORIGIN}\n2\naGUNd+qFGbXZ8caMZkOFMEtaOq+9Dinwx7p170lihkc=\n`,
  logLine: `— ${ORIGIN} yfEkCwsRjw1YXbOYsEPq8u9NriECucdEfsi8TAp5KtzXe0vmBKnEP8pwLOIjaeuVhmvBE6DY49SK0X51Mbq8uYRuuAA=\n`,
  cosignedAtMs: 1_795_913_023_000,
  cosignerLine: `— ${COSIGNER} Q6pI3AAAAABrC3U/mciUC+W0stoEJm/mx8R6pV/+xnd9jBMiNO9S5th2v4hauBP6xKdLzz1Tn54PDOThlLPuYDr3VZ+D5Ivrh6iDBA==\n`,
};
const NOTE = `${GO.text}\n${GO.logLine}${GO.cosignerLine}`;

describe('a signed checkpoint', () => {
  it('is the note that Go’s packages make of the same keys', () => {
    const text = checkpointText({ origin: ORIGIN, size: 2, hash: HASH });
    expect(text).toBe(GO.text);
    expect(logKey.vkey).toBe(GO.logKey);
    expect(logKey.sign(text)).toBe(GO.logLine);
    expect(cosignerKey.vkey.split('+')[1]).toBe(GO.cosignerKeyId);
    expect(cosignerKey.cosign(text, GO.cosignedAtMs + 999)).toBe(GO.cosignerLine);
    expect(isSignedBy(NOTE, GO.logKey)).toBe(true);
    expect(isSignedBy(NOTE, cosignerKey.vkey)).toBe(true);
  });

  it('has the key and the signature of the example of Go’s package', () => {
    const seed = Buffer.from('AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz', 'base64').subarray(1);
    const { vkey, sign } = createLogKey('PeterNeumann', seed);
    expect(vkey).toBe('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW');
    const text =
      "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
    expect(sign(text)).toBe(
      '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n',
    );
  });

  it('is read with its origin, size, hash and signatures', () => {
    expect(readCheckpoint(NOTE)).toMatchObject({
      ...{ origin: ORIGIN, size: 2, hash: HASH, text: GO.text },
      signatures: [{ name: ORIGIN }, { name: COSIGNER }],
    });
    expect(checkpointOrigin('https://svault.example', 'vlt_AAAAAAAAAAAAAAAAAAAAAA')).toBe(ORIGIN);
    expect(checkpointOrigin('http://[::1]:8080', 'vlt_A')).toBe('[::1]:8080/vlt_A');
  });

  it.each([
    ['another size', NOTE.replace('\n2\n', '\n3\n')],
    ['another hash', NOTE.replace('aGUN', 'aGUO')],
    ['another origin', NOTE.replace('svault.example/', 'svault.test/')],
  ])('with %s is signed by neither key', (_, note) => {
    expect(readCheckpoint(note).text).not.toBe(GO.text);
    expect(isSignedBy(note, logKey.vkey)).toBe(false);
    expect(isSignedBy(note, cosignerKey.vkey)).toBe(false);
  });

  it('is signed by none but the keys of its lines, each in its own type', () => {
    const other = new Uint8Array(32).fill(3);
    expect(isSignedBy(NOTE, createLogKey(ORIGIN, other).vkey)).toBe(false);
    expect(isSignedBy(NOTE, createCosignerKey(ORIGIN, new Uint8Array(32).fill(1)).vkey)).toBe(false);
    expect(isSignedBy(NOTE, createLogKey(COSIGNER, new Uint8Array(32).fill(2)).vkey)).toBe(false);
    expect(isSignedBy(`${GO.text}\n${GO.logLine}`, cosignerKey.vkey)).toBe(false);
  });

  it('is not signed by a key of which one of two signatures is wrong', () => {
    const wrong = logKey.sign(GO.text.replace('\n2\n', '\n3\n'));
    expect(isSignedBy(NOTE + wrong, logKey.vkey)).toBe(false);
    expect(isSignedBy(NOTE + wrong, cosignerKey.vkey)).toBe(true);
  });

  it('is not cosigned at another time than the one that its signature has', () => {
    const [, base64 = ''] = / (\S+)\n$/.exec(GO.cosignerLine) ?? [];
    const bytes = Buffer.from(base64, 'base64');
    bytes[11]! ^= 1;
    const note = `${GO.text}\n${GO.cosignerLine.replace(base64, bytes.toString('base64'))}`;
    expect(isSignedBy(note, cosignerKey.vkey)).toBe(false);
  });

  it.each([
    ['is empty', ''],
    ['has no signature', `${GO.text}\n`],
    ['has no empty line', GO.text + GO.logLine],
    ['has an extension line', `${GO.text}more\n\n${GO.logLine}`],
    ['has an empty line before its text', `\n${NOTE}`],
    ['has a leading zero in its size', NOTE.replace('\n2\n', '\n02\n')],
    ['covers no event', NOTE.replace('\n2\n', '\n0\n')],
    ['has a size that is no safe integer', NOTE.replace('\n2\n', '\n9007199254740993\n')],
    ['has a second spelling of its hash', NOTE.replace('hkc=', 'hkd=')],
    ['has a hash of another length', NOTE.replace('hkc=', 'hkdA')],
    ['has an origin with a space', NOTE.replaceAll('svault.example', 'svault example')],
    ['has an origin with a control character', NOTE.replaceAll('svault.example', 'svault\u0007')],
    ['ends without a line feed', NOTE.slice(0, -1)],
    ['has carriage returns', NOTE.replaceAll('\n', '\r\n')],
    ['has a signature of its key id alone', `${GO.text}\n— a yfEkCw==\n`],
    ['has a hyphen for the em dash', NOTE.replace('—', '-')],
    ['has padding that is left out', NOTE.replace('uuAA=', 'uuAA')],
    ['has 17 signatures', `${GO.text}\n${GO.logLine.repeat(17)}`],
  ])('that %s is refused', (_, note) => {
    expect(() => readCheckpoint(note)).toThrow(TypeError);
    expect(() => isSignedBy(note, logKey.vkey)).toThrow(TypeError);
  });
});

describe('a verifier key', () => {
  it('has a name and a role', () => {
    expect(readNoteKey(logKey.vkey)).toEqual({ name: ORIGIN, role: 'log' });
    expect(readNoteKey(cosignerKey.vkey)).toEqual({ name: COSIGNER, role: 'cosigner' });
  });

  it.each([
    ['is empty', ''],
    ['has the hash of another name', GO.logKey.replace('svault', 'other')],
    ['has another hash', GO.logKey.replace('c9f1', 'c9f2')],
    ['has another key', GO.logKey.replace('AYqI', 'AYqJ')],
    ['is too short', GO.logKey.slice(0, -4)],
    ['is followed by a line feed', `${GO.logKey}\n`],
    ['is of ECDSA', 'a+00000000+AoqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c'],
  ])('that %s is refused', (_, vkey) => {
    expect(() => readNoteKey(vkey)).toThrow(TypeError);
  });

  it.each(['', 'a b', 'a+b', 'a\u00a0b', 'a\nb', '\ud800'])('has no name such as %j', (name) => {
    expect(() => createLogKey(name, new Uint8Array(32))).toThrow(TypeError);
  });
});
