package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dapr/components-contrib/pubsub"
)

// patience is how long a case waits for an expected result.
const patience = 30 * time.Second

// A testCase passes if run returns nil.
type testCase struct {
	name string
	run  func(context.Context) error
}

// runAll runs all cases at the same time, because each has entities of its own, and prints the
// result of each.
func runAll(cases []testCase) {
	var wg sync.WaitGroup
	var mu sync.Mutex // guards standard output
	for _, c := range cases {
		wg.Go(func() {
			began := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			err := c.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				fmt.Printf("FAIL %s\n| %s\n", c.name, strings.ReplaceAll(err.Error(), "\n", "\n| "))
				return
			}
			fmt.Printf("PASS %s %dms\n", c.name, time.Since(began).Milliseconds())
		})
	}
	wg.Wait()
}

// An inbox is a handler that keeps the messages that it receives.
type inbox struct {
	mu     sync.Mutex
	got    []*pubsub.NewMessage
	refuse func(body string, delivery int) bool // reports whether to fail a delivery; nil means never
	work   time.Duration                        // how long handling a message takes
}

func (in *inbox) handle(_ context.Context, m *pubsub.NewMessage) error {
	time.Sleep(in.work)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.got = append(in.got, m)
	n := 0
	for _, g := range in.got {
		if string(g.Data) == string(m.Data) {
			n++
		}
	}
	if in.refuse != nil && in.refuse(string(m.Data), n) {
		return errors.New("refused by the case")
	}
	return nil
}

func (in *inbox) messages() []*pubsub.NewMessage {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.got)
}

func (in *inbox) bodies() []string {
	var bodies []string
	for _, m := range in.messages() {
		bodies = append(bodies, string(m.Data))
	}
	return bodies
}

// wants waits until these messages were received, in any order, and no others.
func (in *inbox) wants(want ...string) error {
	slices.Sort(want)
	return until(func() error { return equal(sorted(in.bodies()), want) })
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}

func numbered(prefix string, n int) []string {
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprintf("%s%02d", prefix, i))
	}
	return texts
}

// until repeats f until it succeeds, and returns its last error.
func until(f func() error) error {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := f()
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

func equal[T any](got, want T) error {
	if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w {
		return fmt.Errorf("got  %s\nwant %s", g, w)
	}
	return nil
}

// failsWith checks that an error's text contains words.
func failsWith(err error, words string) error {
	if err == nil || !strings.Contains(err.Error(), words) {
		return fmt.Errorf("got error %v, want one with %q", err, words)
	}
	return nil
}

// An entity is a queue, topic or subscription as the JSON API returns it.
type entity struct {
	Counts     map[string]int
	Properties map[string]any
}

// see returns an entity from the JSON API.
func see(path string) (e entity, err error) {
	err = call(http.MethodGet, "/entities/"+path, nil, &e)
	return e, err
}

// holds waits until the entity has n messages in a state, such as "active" or "deadLetter", and
// no messages in any other.
func holds(path, state string, n int) error {
	return until(func() error {
		e, err := see(path)
		if err != nil {
			return err
		}
		want, total := map[string]int{}, 0
		for _, count := range e.Counts {
			total += count
		}
		if n > 0 {
			want[state] = n
		}
		if e.Counts[state] != n || total != n {
			return fmt.Errorf("%s holds %v, want %v", path, e.Counts, want)
		}
		return nil
	})
}

func call(method, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(method, os.Getenv("SB_API")+"/api/v1"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	if got.StatusCode >= 300 {
		said, _ := io.ReadAll(got.Body)
		return fmt.Errorf("%s %s: %s %s", method, path, got.Status, said)
	}
	return json.NewDecoder(got.Body).Decode(answer)
}
