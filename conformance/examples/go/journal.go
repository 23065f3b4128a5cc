package main

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Op sets a key, or removes it where Value is nil.
type Op struct {
	Key   string          `json:"k"`
	Value json.RawMessage `json:"v,omitempty"`
}

// Journal is a map that survives: each commit is one encrypted line, on the disk before Commit returns. All of it is
// in memory, so reads are free; it is made for thousands of records, not for millions.
type Journal struct {
	values map[string]json.RawMessage
	file   *os.File
	seal   cipher.AEAD
	lines  uint64
}

const journalFile = "journal"

// OpenJournal reads what is there. A wrong key is refused and changes nothing (KEP-02).
func OpenJournal(folder string) (*Journal, error) {
	key, err := masterKey(folder)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(folder, journalFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	journal := &Journal{values: map[string]json.RawMessage{}, file: file, seal: seal}
	if err := journal.replay(); err != nil {
		file.Close()
		return nil, err
	}
	return journal, nil
}

func (j *Journal) replay() error {
	reader := bufio.NewReader(j.file)
	var whole int64
	for {
		line, err := reader.ReadString('\n')
		if errors.Is(err, io.EOF) {
			// What has no line end was being written when the power went: it was never answered for.
			if err := j.file.Truncate(whole); err != nil {
				return err
			}
			_, err := j.file.Seek(whole, io.SeekStart)
			return err
		}
		if err != nil {
			return err
		}
		ops, err := j.open(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return fmt.Errorf("line %d of the journal: %w (is this its key?)", j.lines+1, err)
		}
		j.apply(ops)
		j.lines++
		whole += int64(len(line))
	}
}

func (j *Journal) open(line string) ([]Op, error) {
	sealed, err := base64.StdEncoding.DecodeString(line)
	if err != nil || len(sealed) < j.seal.NonceSize() {
		return nil, errors.New("it is damaged")
	}
	nonce, text := sealed[:j.seal.NonceSize()], sealed[j.seal.NonceSize():]
	plain, err := j.seal.Open(nil, nonce, text, j.place())
	if err != nil {
		return nil, err
	}
	var ops []Op
	return ops, json.Unmarshal(plain, &ops)
}

// place binds a line to its number, so that lines cannot be swapped or left out.
func (j *Journal) place() []byte { return binary.BigEndian.AppendUint64(nil, j.lines) }

func (j *Journal) apply(ops []Op) {
	for _, op := range ops {
		if op.Value == nil {
			delete(j.values, op.Key)
		} else {
			j.values[op.Key] = op.Value
		}
	}
}

// Commit writes all of ops or none.
func (j *Journal) Commit(ops ...Op) error {
	plain, err := json.Marshal(ops)
	if err != nil {
		return err
	}
	nonce := randomBytes(j.seal.NonceSize())
	line := base64.StdEncoding.EncodeToString(j.seal.Seal(nonce, nonce, plain, j.place())) + "\n"
	if _, err := j.file.WriteString(line); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.apply(ops)
	j.lines++
	return nil
}

// Get reads a value into target and says whether there is one.
func (j *Journal) Get(key string, target any) bool {
	value, ok := j.values[key]
	return ok && json.Unmarshal(value, target) == nil
}

// Keys lists the keys that begin with prefix, in order, without it.
func (j *Journal) Keys(prefix string) []string {
	var keys []string
	for key := range j.values {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			keys = append(keys, rest)
		}
	}
	sort.Strings(keys)
	return keys
}

// Put is an Op that sets.
func Put(key string, value any) Op {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // Only our own types come here.
	}
	return Op{Key: key, Value: text}
}

// Remove is an Op that removes.
func Remove(key string) Op { return Op{Key: key} }

func masterKey(folder string) ([]byte, error) {
	path := filepath.Join(folder, "key")
	key, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(folder, journalFile)); err == nil {
			return nil, fmt.Errorf("%s is missing: what is stored cannot be read without it", path)
		}
		key = randomBytes(32)
		err = os.WriteFile(path, key, 0o600)
	}
	return key, err
}

func randomBytes(count int) []byte {
	bytes := make([]byte, count)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return bytes
}

// randomToken is base64url of so many random bytes.
func randomToken(count int) string { return base64.RawURLEncoding.EncodeToString(randomBytes(count)) }
