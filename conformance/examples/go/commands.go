package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	linkLife    = 15 * time.Minute
	socketFile  = "commands"
	commandTime = 10 * time.Second
)

// takeCommands listens on a socket in the folder, for what only who is on this machine may do (APR-37).
func (wh *Webhook) takeCommands(folder string) error {
	path := filepath.Join(folder, socketFile)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // Left by a process that was killed.
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return err
	}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go wh.takeCommand(connection)
		}
	}()
	return nil
}

func (wh *Webhook) takeCommand(connection net.Conn) {
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(commandTime))
	line, err := bufio.NewReader(io.LimitReader(connection, 1<<10)).ReadString('\n')
	if err != nil {
		return
	}
	name, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
	wh.mu.Lock()
	answer, err := wh.run(name, argument)
	wh.mu.Unlock()
	if err != nil {
		answer = "error: " + err.Error()
	}
	fmt.Fprintln(connection, answer)
}

func (wh *Webhook) run(name, argument string) (string, error) {
	switch name {
	case "approver-link":
		code := randomToken(16)
		return wh.publicURL + "/approvers/new?code=" + code, wh.journal.Commit(Put(linkKey(code), time.Now().Add(linkLife).Unix()))
	case "approvers":
		lines := []string{}
		for _, each := range wh.approvers() {
			lines = append(lines, each.ID+" "+each.Name)
		}
		return strings.Join(lines, "\n"), nil
	case "remove-approver":
		approver := Approver{}
		if !wh.journal.Get("approver/"+argument, &approver) {
			return "", fmt.Errorf("no approver %q", argument)
		}
		ops := wh.voidApprovals(func(each *Approval) bool { return each.Approver == approver.ID }) // APR-35
		entry := wh.logged("success", "APPROVER_REMOVED", "", "", Object{"approver": approver.ID, "name": approver.Name})
		return "removed", wh.journal.Commit(append(append(ops, entry...), Remove("approver/"+approver.ID))...)
	}
	return "", fmt.Errorf("unknown command %q", name)
}

// command has the running webhook do something, and prints its answer.
func command(folder, line string) error {
	connection, err := net.DialTimeout("unix", filepath.Join(folder, socketFile), commandTime)
	if err != nil {
		return fmt.Errorf("is it running? %w", err)
	}
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(commandTime))
	fmt.Fprintln(connection, line)
	answer, err := io.ReadAll(connection)
	if err != nil {
		return err
	}
	if reason, failed := strings.CutPrefix(string(answer), "error: "); failed {
		return errors.New(strings.TrimSpace(reason))
	}
	fmt.Print(string(answer))
	return nil
}
