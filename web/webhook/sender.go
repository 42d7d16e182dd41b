package webhook

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

	"mayfly/engine/alert"
)

const (
	requestTimeout = 10 * time.Second // for one request
	maxAttempts    = 8
	firstRetry     = time.Second // before the second attempt; doubles with each
	eventInterval  = time.Second // between two events of a rule
	maxDeliveries  = 30          // deliveries kept for a rule
	maxQueues      = 4 * alert.MaxRules
	maxResponse    = 4 << 10 // bytes read of a response
)

// Options configure a Sender.
type Options struct {
	Source       string            // of events: the namespace's page
	AllowPrivate bool              // addresses of this machine and of private networks are allowed
	Transport    http.RoundTripper // for tests; zero means one that connects only to allowed addresses
	Logger       *slog.Logger      // zero means slog.Default
}

// A State is the state of a delivery.
type State string

const (
	Sending   State = "sending" // or waiting for the next attempt
	Delivered State = "delivered"
	Failed    State = "failed" // it will not be tried again
)

// A Delivery is an event on its way to a webhook, or its outcome.
type Delivery struct {
	ID       string // of the event
	At       time.Time
	Count    int64
	Test     bool
	State    State
	Attempts int
	Status   int    // of the last response; zero if none arrived
	Error    string // of the last attempt; empty if it succeeded
}

// A Sender posts alerts. Its methods are safe for concurrent use.
type Sender struct {
	o        Options
	client   *http.Client
	log      *slog.Logger
	reserved []netip.Prefix
	ctx      context.Context //nolint:containedctx // of all requests: it ends with Close, not with the call that starts one
	stop     context.CancelFunc
	wg       sync.WaitGroup

	mu     sync.Mutex
	queues map[alert.ID]*ruleQueue // guarded by mu
	lookup Lookup                  // guarded by mu; nil means that rules are as last offered
}

// Lookup returns the current state of a rule, or an error if the rule no longer exists.
type Lookup func(alert.ID) (alert.Status, error)

// A ruleQueue is the queue of a rule: one event being sent, and the one to send next.
type ruleQueue struct {
	rule       alert.Rule
	pending    *alert.Alert
	running    bool
	deliveries []Delivery // latest last
}

// New returns a Sender. Call Close when done.
func New(o Options) *Sender {
	s := &Sender{o: o, log: cmp.Or(o.Logger, slog.Default()), reserved: reservedPrefixes(), queues: map[alert.ID]*ruleQueue{}}
	s.client = &http.Client{
		Transport: o.Transport, Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if o.Transport == nil {
		s.client.Transport = s.transport()
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// SetLookup makes the sender call `ask` for the rule before every attempt. The event goes to the
// rule's current webhook, or is given up if the rule is disabled, or has no webhook any more.
func (s *Sender) SetLookup(ask Lookup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookup = ask
}

// Close cancels all requests and waits for them to end. Alerts offered later are not sent.
func (s *Sender) Close() {
	s.mu.Lock()
	s.stop() // under mu: Offer starts its work before this, or sees that ctx is done
	s.mu.Unlock()
	s.wg.Wait()
	s.client.CloseIdleConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := 0
	for _, l := range s.queues {
		if l.pending != nil {
			lost++
		}
		if n := len(l.deliveries); n > 0 && l.deliveries[n-1].State == Sending {
			lost++
		}
	}
	if lost > 0 {
		s.log.Warn("webhook events were lost when the server stopped", "lost_events", lost)
	}
}

// Offer queues an alert for a rule's webhook, merged with any alert that is waiting.
func (s *Sender) Offer(r alert.Rule, a alert.Alert) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.queues[r.ID]
	if l == nil {
		s.dropIdle()
		l = &ruleQueue{}
		s.queues[r.ID] = l
	}
	l.rule = r
	if l.pending != nil {
		a = l.pending.Merge(a)
	}
	l.pending = &a
	if !l.running && s.ctx.Err() == nil {
		l.running = true
		s.wg.Go(func() { s.sendQueued(l) })
	}
}

// dropIdle drops idle queues until there is room for one more rule. The caller holds s.mu.
func (s *Sender) dropIdle() {
	for id, l := range s.queues {
		if len(s.queues) < maxQueues {
			return
		}
		if !l.running {
			delete(s.queues, id)
		}
	}
}

// Deliveries returns the latest deliveries of a rule, newest first.
func (s *Sender) Deliveries(id alert.ID) []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.queues[id]
	if l == nil {
		return nil
	}
	out := slices.Clone(l.deliveries)
	slices.Reverse(out)
	return out
}

// next removes and returns the pending alert of a queue, and the rule. It returns false if there is
// none or the sender is closed, and then marks the queue as not running.
func (s *Sender) next(l *ruleQueue) (r alert.Rule, a alert.Alert, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.pending == nil || s.ctx.Err() != nil {
		l.running = false
		return r, a, false
	}
	a, l.pending = *l.pending, nil
	return l.rule, a, true
}

func (s *Sender) sendQueued(l *ruleQueue) {
	for {
		r, a, ok := s.next(l)
		if !ok {
			return
		}
		d := Delivery{ID: rand.Text(), At: a.At.Time(), Count: a.Count, Test: isTest(a), State: Sending}
		s.record(l, d)
		s.deliver(l, r, d, encode(d.ID, s.o.Source, a))
		s.sleep(eventInterval)
	}
}

// record records d as the current state of its delivery.
func (s *Sender) record(l *ruleQueue, d Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(l.deliveries); n > 0 && l.deliveries[n-1].ID == d.ID {
		l.deliveries[n-1] = d
		return
	}
	l.deliveries = append(l.deliveries, d)
	l.deliveries = slices.Clone(l.deliveries[max(0, len(l.deliveries)-maxDeliveries):])
}

// currentRule returns the current state of rule r, by the function of SetLookup. It returns false if
// the delivery d must not be sent any more.
func (s *Sender) currentRule(r alert.Rule, d Delivery) (_ alert.Rule, ok bool) {
	s.mu.Lock()
	ask := s.lookup
	s.mu.Unlock()
	if ask == nil {
		return r, true
	}
	is, err := ask(r.ID)
	return is.Rule, err == nil && is.URL != "" && (!is.Off || d.Test)
}

// deliver tries until the delivery succeeds or fails for good.
func (s *Sender) deliver(l *ruleQueue, r alert.Rule, d Delivery, body []byte) {
	for d.State == Sending && s.ctx.Err() == nil {
		is, ok := s.currentRule(r, d)
		if !ok {
			d.State, d.Error = Failed, "The rule was deleted or disabled, or its webhook was removed."
			s.record(l, d)
			return // not logged, because an operator caused it
		}
		if is.URL != r.URL {
			d.Attempts = 0 // the new address has not been tried yet
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
			d.Error = fmt.Sprintf("The webhook answered %d %s.", d.Status, http.StatusText(d.Status))
			if !isRetryable(d.Status) || d.Attempts == maxAttempts {
				d.State = Failed
			}
		case s.ctx.Err() != nil:
			return // Close cut it off; not a failure
		default:
			d.Error = errorText(err)
			if d.Attempts == maxAttempts {
				d.State = Failed
			}
		}
		s.record(l, d)
		if d.State == Sending {
			s.sleep(jitter(firstRetry << (d.Attempts - 1)))
		}
	}
	if d.State == Failed {
		s.log.Warn("a webhook delivery failed", "rule", r.Name, "attempts", d.Attempts, "reason", d.Error)
	}
}

// isRetryable reports whether a request with this response is worth repeating.
func isRetryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	default:
		return status >= http.StatusInternalServerError
	}
}

// errorText returns the text of a request error without the address, which may hold a secret.
func errorText(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		if e.Timeout() {
			return fmt.Sprintf("The webhook did not answer within %v.", requestTimeout)
		}
		err = e.Err
	}
	return err.Error()
}

// jitter returns d plus or minus up to a quarter.
func jitter(d time.Duration) time.Duration {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(d/2)))
	if err != nil {
		return d
	}
	return d*3/4 + time.Duration(n.Int64())
}

// post sends one request with a signed body to the rule's webhook, and returns the response's status.
func (s *Sender) post(r alert.Rule, body []byte) (status int, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, requestTimeout)
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
		return 0, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxResponse)) //nolint:errcheck // only the status matters
	return answer.StatusCode, nil
}

// sleep sleeps for d, or until the sender is closed.
func (s *Sender) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}
