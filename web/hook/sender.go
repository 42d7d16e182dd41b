package hook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"mayfly/engine/rescue"
)

const (
	patience      = 10 * time.Second // for one request
	attemptsMost  = 8
	firstAgain    = time.Second // doubles
	between       = time.Second // two events of a rule
	deliveredMost = 30          // deliveries of a rule that are remembered
	linesMost     = 4 * rescue.RulesMost
	answerMost    = 4 << 10 // bytes of an answer that are read
)

// Options are how webhooks are told.
type Options struct {
	Source    string            // of events: the namespace's page
	Private   bool              // addresses of this machine and of private networks are allowed
	Transport http.RoundTripper // for tests; zero: one that goes where it may alone
	Logger    *slog.Logger      // zero: slog.Default
}

// A State is what has become of a delivery.
type State string

// The states of deliveries.
const (
	Sending   State = "sending" // or it is tried again in a while
	Delivered State = "delivered"
	Failed    State = "failed" // it will not be tried again
)

// A Delivery is an event on its way to a webhook, or what became of it.
type Delivery struct {
	ID       string // of the event
	At       time.Time
	Count    int64
	Test     bool
	State    State
	Attempts int
	Status   int    // of the last answer; zero: there was none
	Error    string // of the last attempt; empty: it was good
}

// A Sender posts alerts. Its methods are safe for concurrent use.
type Sender struct {
	o        Options
	client   *http.Client
	log      *slog.Logger
	reserved []netip.Prefix
	ctx      context.Context //nolint:containedctx // of all requests: it ends with Close, not with the call that begins one
	stop     context.CancelFunc
	wg       sync.WaitGroup

	mu    sync.Mutex
	lines map[rescue.ID]*line // guarded by mu
	ask   Asked               // guarded by mu; nil: rules are as they were offered last
}

// Asked says what a rule is now; the error is that there is none any more.
type Asked func(rescue.ID) (rescue.Status, error)

// A line is what a rule has to tell: one event under way, and what comes after it.
type line struct {
	rule    rescue.Rule
	pending *rescue.Alert
	running bool
	past    []Delivery // the latest last
}

// New makes a sender. Close ends it.
func New(o Options) *Sender {
	s := &Sender{o: o, log: cmp.Or(o.Logger, slog.Default()), reserved: reserved(), lines: map[rescue.ID]*line{}}
	s.client = &http.Client{
		Transport: o.Transport, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if o.Transport == nil {
		s.client.Transport = s.transport()
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Ask has the sender ask for a rule before every attempt: an event goes where the
// rule leads then, and nowhere if it leads nowhere.
func (s *Sender) Ask(ask Asked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ask = ask
}

// Close gives up what is under way, and waits for that. What is offered later is
// told nobody.
func (s *Sender) Close() {
	s.mu.Lock()
	s.stop() // after what Offer begins, or before it looks
	s.mu.Unlock()
	s.wg.Wait()
	s.client.CloseIdleConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := 0
	for _, l := range s.lines {
		if l.pending != nil {
			lost++
		}
		if n := len(l.past); n > 0 && l.past[n-1].State == Sending {
			lost++
		}
	}
	if lost > 0 {
		s.log.Warn("webhooks were not told of everything before the server stopped", "lost_events", lost)
	}
}

// Offer has a rule's webhook told of an alert, soon, together with what else waits
// for it.
func (s *Sender) Offer(r rescue.Rule, a rescue.Alert) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[r.ID]
	if l == nil {
		s.forget()
		l = &line{}
		s.lines[r.ID] = l
	}
	l.rule = r
	if l.pending != nil {
		a = l.pending.Merge(a)
	}
	l.pending = &a
	if !l.running && s.ctx.Err() == nil {
		l.running = true
		s.wg.Go(func() { s.work(l) })
	}
}

// forget makes room for one more rule. s.mu is held.
func (s *Sender) forget() {
	for id, l := range s.lines {
		if len(s.lines) < linesMost {
			return
		}
		if !l.running {
			delete(s.lines, id)
		}
	}
}

// Deliveries are the latest of a rule, the latest first.
func (s *Sender) Deliveries(id rescue.ID) []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[id]
	if l == nil {
		return nil
	}
	out := slices.Clone(l.past)
	slices.Reverse(out)
	return out
}

// next is what comes after; not ok: there is nothing, or the end has come.
func (s *Sender) next(l *line) (r rescue.Rule, a rescue.Alert, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.pending == nil || s.ctx.Err() != nil {
		l.running = false
		return r, a, false
	}
	a, l.pending = *l.pending, nil
	return l.rule, a, true
}

func (s *Sender) work(l *line) {
	for {
		r, a, ok := s.next(l)
		if !ok {
			return
		}
		d := Delivery{ID: rand.Text(), At: a.At.Time(), Count: a.Count, Test: isTest(a), State: Sending}
		s.note(l, d)
		s.deliver(l, r, d, encode(d.ID, s.o.Source, a))
		s.wait(between)
	}
}

// note has a delivery known as it is now.
func (s *Sender) note(l *line, d Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(l.past); n > 0 && l.past[n-1].ID == d.ID {
		l.past[n-1] = d
		return
	}
	l.past = append(l.past, d)
	l.past = slices.Clone(l.past[max(0, len(l.past)-deliveredMost):])
}

// present is a rule as it is now; not ok: its webhook is not to be told of d.
func (s *Sender) present(r rescue.Rule, d Delivery) (_ rescue.Rule, ok bool) {
	s.mu.Lock()
	ask := s.ask
	s.mu.Unlock()
	if ask == nil {
		return r, true
	}
	is, err := ask(r.ID)
	return is.Rule, err == nil && is.URL != "" && (!is.Off || d.Test)
}

// deliver tries until it is good, or will not be any more.
func (s *Sender) deliver(l *line, r rescue.Rule, d Delivery, body []byte) {
	for d.State == Sending && s.ctx.Err() == nil {
		is, ok := s.present(r, d)
		if !ok {
			d.State, d.Error = Failed, "The rule was removed, switched off or has no webhook any more."
			s.note(l, d)
			return // somebody wanted that
		}
		if is.URL != r.URL {
			d.Attempts = 0 // elsewhere nobody was asked yet
		}
		r = is
		d.Attempts++
		var err error
		d.Status, err = s.post(r, body)
		d.Error = ""
		switch {
		case err == nil && d.Status/100 == 2:
			d.State = Delivered
		case err == nil:
			d.Error = fmt.Sprintf("It answered %d %s.", d.Status, http.StatusText(d.Status))
			if !again(d.Status) || d.Attempts == attemptsMost {
				d.State = Failed
			}
		case s.ctx.Err() != nil:
			return // it was cut off, which is nobody's fault
		default:
			d.Error = said(err)
			if d.Attempts == attemptsMost {
				d.State = Failed
			}
		}
		s.note(l, d)
		if d.State == Sending {
			s.wait(jitter(firstAgain << (d.Attempts - 1)))
		}
	}
	if d.State == Failed {
		s.log.Warn("a webhook was not told", "rule", r.Name, "attempts", d.Attempts, "why", d.Error)
	}
}

// again tells whether an answer may be another one later.
func again(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	default:
		return status >= http.StatusInternalServerError
	}
}

// said is an error of a request without the address, which may hold a secret.
func said(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		if e.Timeout() {
			return fmt.Sprintf("There was no answer in %v.", patience)
		}
		err = e.Err
	}
	return err.Error()
}

// jitter is d, give or take a quarter.
func jitter(d time.Duration) time.Duration {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(d/2)))
	if err != nil {
		return d
	}
	return d*3/4 + time.Duration(n.Int64())
}

// post makes one request.
func (s *Sender) post(r rescue.Rule, body []byte) (status int, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("Content-Type", "application/cloudevents+json; charset=utf-8")
	req.Header.Set("User-Agent", "Mayfly")
	req.Header.Set("Mayfly-Rule", strconv.FormatInt(int64(r.ID), 10))
	if r.Secret != "" {
		req.Header.Set(SignatureHeader, Sign(r.Secret, time.Now(), body))
	}
	answer, err := s.client.Do(req)
	if err != nil {
		return 0, err //nolint:wrapcheck // said makes it a sentence
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, answerMost)) //nolint:errcheck // the status has said it all
	return answer.StatusCode, nil
}

// wait waits, unless the end comes before.
func (s *Sender) wait(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}
