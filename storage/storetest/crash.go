package storetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

// crashDirVar is set in the environment of the process that is to be killed.
const crashDirVar = "MAYFLY_STORETEST_CRASH"

// RunCrashes starts the calling test again in another process, which commits in a loop and reports
// each acknowledged commit. It kills the process at a random moment, opens the store that is
// left, and repeats that on the same store, rounds times. The content must be the result of all
// batches up to some batch, including all that were acknowledged as durable, and the audit
// events must be exactly those of these batches.
//
// open opens the store that is kept in dir. The test must call nothing else before RunCrashes,
// because the other process runs it too.
func RunCrashes(t *testing.T, rounds int, open func(ctx context.Context, dir string) (engine.Store, error)) {
	if dir := os.Getenv(crashDirVar); dir != "" {
		if err := commitUntilKilled(t.Context(), dir, open); err != nil {
			t.Fatal(err)
		}
		return
	}
	dir, seed := t.TempDir(), seed(t)
	done := newWalk(seed) // records that must be in the store
	killed := 0
	for range rounds {
		acked, attempted := runAndKill(t, dir, seed)
		if attempted > done.batches {
			killed++
		}
		checkSurvived(t, dir, open, done, acked)
	}
	t.Logf("%d batches, %d messages; %d of %d rounds committed anything", done.batches, len(done.state.Messages), killed, rounds)
	if killed < rounds/2 {
		t.Errorf("only %d of %d rounds committed anything before they were killed", killed, rounds)
	}
}

// checkSurvived opens the store, finds out which batch was the last, advances done to it and
// compares.
func checkSurvived(t *testing.T, dir string, open func(context.Context, string) (engine.Store, error), done *walk, acked int64) {
	t.Helper()
	s, err := open(t.Context(), dir)
	if err != nil {
		t.Fatalf("open after a crash: %v", err)
	}
	defer closeStore(t, s)
	got, err := tryLoad(t.Context(), s)
	if err != nil {
		t.Fatalf("after a crash: %v", err)
	}
	n := int64(got.Meters[counter].NextSeq)
	if n < acked || n < done.batches {
		t.Fatalf("after a crash there are %d batches; %d were acknowledged, and %d were there before", n, acked, done.batches)
	}
	for done.batches < n {
		done.next()
	}
	if d := diff(done.state, got); d != "" {
		t.Fatalf("after a crash at batch %d (-want +got):\n%s", n, d)
	}
	if err := errors.Join(done.state.bodiesDiffer(t.Context(), s, 7), done.state.auditDiffers(t.Context(), s)); err != nil {
		t.Fatalf("after a crash at batch %d: %v", n, err)
	}
}

// runAndKill runs the other process and kills it. It returns the last batch that was acknowledged
// as durable and the last one that was started.
func runAndKill(t *testing.T, dir string, seed uint64) (acked, attempted int64) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	c.Env = append(os.Environ(), crashDirVar+"="+dir+string(os.PathListSeparator)+strconv.FormatUint(seed, 10))
	var complaints bytes.Buffer
	c.Stderr = &complaints
	stdin, err := c.StdinPipe() // it closes when this process ends, which ends the other one
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }() //nolint:errcheck // Wait has closed it
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var kill *time.Timer
	var other []string
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		what, number, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseInt(number, 10, 64)
		switch {
		case err == nil && what == "begin":
			attempted = n
		case err == nil && what == "durable":
			acked = n
		default:
			other = append(other, lines.Text())
		}
		if kill == nil {
			kill = time.AfterFunc(rand.N(120*time.Millisecond), func() {
				_ = c.Process.Kill() //nolint:errcheck // it may have ended by itself, which Wait reports
			})
		}
	}
	killed := kill != nil && !kill.Stop()
	if err := c.Wait(); !killed {
		t.Fatalf("the process was not killed but ended: %v\n%s\n%s", err, strings.Join(other, "\n"), complaints.String())
	}
	return acked, attempted
}

func commitUntilKilled(ctx context.Context, where string, open func(context.Context, string) (engine.Store, error)) error {
	at := strings.LastIndexByte(where, os.PathListSeparator)
	dir, number := where[:at], where[at+1:]
	seed, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return err
	}
	orphan := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		orphan <- err
	}()
	s, err := open(ctx, dir)
	if err != nil {
		return err
	}
	found, err := tryLoad(ctx, s)
	if err != nil {
		return err
	}
	w := newWalk(seed)
	for n := int64(found.Meters[counter].NextSeq); w.batches < n; {
		w.next()
	}
	for {
		select {
		case err := <-orphan:
			return errors.Join(err, s.Close())
		default:
		}
		do := w.next()
		fmt.Println("begin", w.batches)
		for _, b := range do.staged {
			if err := s.Stage(ctx, b.Key, bytes.NewReader(b.Bytes)); err != nil {
				return err
			}
		}
		if err := s.Commit(ctx, do.batch); err != nil {
			return err
		}
		if do.batch.Hard {
			fmt.Println("durable", w.batches)
		}
	}
}
