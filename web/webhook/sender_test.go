package webhook_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/web/webhook"
)

// endpoint is the target of webhooks in a synctest bubble.
type endpoint struct {
	mu     sync.Mutex
	answer func(n int, r *http.Request) (int, error) // n counts from 1
	got    []got
}

type got struct {
	at     time.Time
	host   string
	header http.Header
	event  webhook.Event
	body   []byte
}

func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	g := got{at: time.Now(), host: r.URL.Host, header: r.Header, body: body}
	if err := json.Unmarshal(body, &g.event); err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.got = append(e.got, g)
	n := len(e.got)
	e.mu.Unlock()
	status, err := e.answer(n, r)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("ok")), Request: r}, nil
}

func (e *endpoint) all() []got {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.got)
}

func bubble(t *testing.T, answer func(n int, r *http.Request) (int, error), f func(t *testing.T, s *webhook.Sender, e *endpoint)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answer: answer}
		s := webhook.New(webhook.Options{Source: "http://here/n/default", Transport: e, Logger: slog.New(slog.DiscardHandler)})
		defer s.Close()
		f(t, s, e)
	})
}

var rule = alert.Rule{ID: 7, Name: "late orders", Condition: alert.ExpiringSoon, Action: alert.Notify, URL: "http://there/", Secret: "correct horse"}

func late(count int64, items int) alert.Alert {
	a := alert.Alert{At: 1_800_000_000_000, Rule: rule.ID, Name: rule.Name, Condition: rule.Condition, Action: rule.Action, Count: count}
	for i := range items {
		a.Items = append(a.Items, alert.Item{Path: "orders", Key: engine.Key(i + 1), Seq: engine.Seq(i + 1), Expires: 1_800_000_001_000})
	}
	return a
}

func good(int, *http.Request) (int, error) { return http.StatusNoContent, nil }

func TestEvent(t *testing.T) {
	bubble(t, good, func(t *testing.T, s *webhook.Sender, e *endpoint) {
		s.Offer(rule, late(1, 1))
		synctest.Wait()
		all := e.all()
		if len(all) != 1 {
			t.Fatalf("%d requests were made", len(all))
		}
		g := all[0]
		if is := g.event; is.SpecVersion != "1.0" || is.ID == "" || is.Type != "mayfly.alert.expiring" || is.Source != "http://here/n/default" || is.Subject != rule.Name || is.DataContentType != "application/json" {
			t.Errorf("the event is %+v", is)
		}
		if is := g.event.Data; is.Rule.ID != 7 || is.Count != 1 || len(is.Items) != 1 || is.Items[0].Path != "orders" || is.Items[0].Message != "1" || is.Items[0].ExpiresAt == nil {
			t.Errorf("the data is %+v", is)
		}
		if kind := g.header.Get("Content-Type"); !strings.HasPrefix(kind, "application/cloudevents+json") {
			t.Errorf("the event is named %q", kind)
		}
		if strings.Contains(string(g.body), rule.Secret) {
			t.Error("the event contains the secret")
		}
		want := webhook.Sign(rule.Secret, g.at, g.body)
		if got := g.header.Get(webhook.SignatureHeader); got != want || webhook.Sign("another", g.at, g.body) == want || webhook.Sign(rule.Secret, g.at, append(g.body, ' ')) == want {
			t.Errorf("the signature is %q, want %q", got, want)
		}
		unsigned := rule
		unsigned.Secret = ""
		s.Offer(unsigned, late(1, 1))
		time.Sleep(2 * time.Second)
		if got := e.all()[1].header.Get(webhook.SignatureHeader); got != "" {
			t.Errorf("without a secret the signature is %q", got)
		}
		d := s.Deliveries(rule.ID)
		if len(d) != 2 || d[1].State != webhook.Delivered || d[1].Attempts != 1 || d[1].Status != http.StatusNoContent {
			t.Errorf("deliveries are %+v", d)
		}
	})
}

// TestKnownSignature compares a signature with one that another program has made of the same text
// and secret.
func TestKnownSignature(t *testing.T) {
	const want = "t=1783936800,v1=97e1df81d76e2cd630cbea1915726ef8b3f0607fe01cbbc7e9cddf3e89bb396a"
	if got := webhook.Sign("correct horse", time.Unix(1783936800, 0), []byte(`{"a":1}`)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		answer   func(n int, r *http.Request) (int, error)
		attempts int
		state    webhook.State
		says     string
	}{
		"twice no":        {func(n int, _ *http.Request) (int, error) { return map[bool]int{true: 503, false: 200}[n < 3], nil }, 3, webhook.Delivered, ""},
		"never":           {func(int, *http.Request) (int, error) { return 500, nil }, 8, webhook.Failed, "500"},
		"nobody there":    {func(int, *http.Request) (int, error) { return 0, errors.New("connection refused") }, 8, webhook.Failed, "refused"},
		"too many":        {func(n int, _ *http.Request) (int, error) { return map[bool]int{true: 429, false: 200}[n < 2], nil }, 2, webhook.Delivered, ""},
		"not wanted":      {func(int, *http.Request) (int, error) { return 404, nil }, 1, webhook.Failed, "404"},
		"leads elsewhere": {func(int, *http.Request) (int, error) { return 302, nil }, 1, webhook.Failed, "302"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, tc.answer, func(t *testing.T, s *webhook.Sender, e *endpoint) {
				s.Offer(rule, late(1, 1))
				time.Sleep(5 * time.Minute)
				d := s.Deliveries(rule.ID)
				if len(d) != 1 || d[0].State != tc.state || d[0].Attempts != tc.attempts || !strings.Contains(d[0].Error, tc.says) || tc.says == "" && d[0].Error != "" {
					t.Errorf("deliveries are %+v", d)
				}
				all := e.all()
				for i, g := range all {
					if g.event.ID != all[0].event.ID {
						t.Error("the event is sent again with another id")
					}
					if i > 0 {
						wait := g.at.Sub(all[i-1].at)
						if want := time.Second << (i - 1); wait < want*3/4 || wait > want*5/4 {
							t.Errorf("attempt %d came after %v, want about %v", i+1, wait, want)
						}
					}
				}
				if len(all) == 8 && all[7].at.Sub(all[0].at) > 3*time.Minute {
					t.Errorf("the event was tried for %v", all[7].at.Sub(all[0].at))
				}
			})
		})
	}
}

// TestFrozen has an endpoint that does not answer. Offer does not wait for it, other rules are
// delivered at once, and the rule's own alerts that arrive in the meantime are merged into one
// event.
func TestFrozen(t *testing.T) {
	frozen := func(_ int, r *http.Request) (int, error) {
		if strings.Contains(r.URL.Host, "frozen") {
			<-r.Context().Done()
			return 0, r.Context().Err()
		}
		return 200, nil
	}
	bubble(t, frozen, func(t *testing.T, s *webhook.Sender, e *endpoint) {
		slow := rule
		slow.ID, slow.URL = 8, "http://frozen/"
		began := time.Now()
		for range 1000 {
			s.Offer(slow, late(100, 100))
		}
		s.Offer(rule, late(1, 1))
		synctest.Wait()
		if time.Since(began) != 0 {
			t.Error("a caller waited for the delivery")
		}
		if d := s.Deliveries(rule.ID); len(d) != 1 || d[0].State != webhook.Delivered {
			t.Errorf("another rule's deliveries are %+v", d)
		}
		time.Sleep(30 * time.Second)
		if d := s.Deliveries(slow.ID); len(d) != 1 || !strings.Contains(d[0].Error, "did not answer within 10s") {
			t.Errorf("deliveries are %+v", d)
		}
		time.Sleep(10 * time.Minute)
		d := s.Deliveries(slow.ID)
		if len(d) != 2 || d[0].Count+d[1].Count != 100_000 {
			t.Errorf("deliveries are %+v", d)
		}
		for _, g := range e.all() {
			if len(g.event.Data.Items) > 100 {
				t.Errorf("an event has %d items", len(g.event.Data.Items))
			}
		}
	})
}

// TestMostRemembered offers 600 alerts in a minute: the endpoint gets at most about one request a
// second, which together report all alerts, and the Sender remembers the last 30 deliveries.
func TestMostRemembered(t *testing.T) {
	bubble(t, good, func(t *testing.T, s *webhook.Sender, e *endpoint) {
		for range 600 {
			s.Offer(rule, late(1, 1))
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		if n := len(e.all()); n > 62 {
			t.Errorf("got %d requests in a minute", n)
		}
		count := int64(0)
		for _, g := range e.all() {
			count += g.event.Data.Count
		}
		if n := len(s.Deliveries(rule.ID)); n != 30 || count != 600 {
			t.Errorf("%d deliveries are remembered, %d messages were reported", n, count)
		}
	})
}

func TestAdmit(t *testing.T) {
	shared, own := webhook.New(webhook.Options{}), webhook.New(webhook.Options{AllowPrivate: true})
	defer shared.Close()
	defer own.Close()
	const yes, no = true, false
	for address, want := range map[string][2]bool{
		"https://example.org/a?b=c":        {yes, yes},
		"http://93.184.216.34:8080/":       {yes, yes},
		"http://127.0.0.1:9/":              {no, yes},
		"http://localhost:9/":              {no, yes},
		"http://LOCALHOST./":               {no, yes},
		"http://[::1]/":                    {no, yes},
		"http://[::ffff:127.0.0.1]/":       {no, yes},
		"http://10.1.2.3/":                 {no, yes},
		"http://192.168.0.1/":              {no, yes},
		"http://100.64.0.1/":               {no, yes},
		"http://[::ffff:100.64.0.1]/":      {no, yes},
		"http://[fd00::1]/":                {no, yes},
		"http://[64:ff9b::7f00:1]/":        {no, yes},
		"http://[2002:7f00:1::]/":          {no, yes},
		"http://169.254.169.254/latest/":   {no, no},
		"http://[::ffff:169.254.169.254]/": {no, no},
		"http://0.0.0.0/":                  {no, no},
		"http://[ff02::1]/":                {no, no},
		"ftp://example.org/":               {no, no},
		"file:///etc/passwd":               {no, no},
		"http:example.org":                 {no, no},
		"http:///x":                        {no, no},
		"http://a:b@example.org/":          {no, no},
		"http://example.org/#x":            {no, no},
		"example.org":                      {no, no},
	} {
		for i, s := range []*webhook.Sender{shared, own} {
			if err := s.CheckAddress(address); (err == nil) != want[i] {
				t.Errorf("%s, %s: %v", address, []string{"shared", "own"}[i], err)
			}
		}
	}
}

// TestWhereAConnectionGoes checks that without AllowPrivate no request is sent to a host that
// resolves to this machine, whatever its name is.
func TestWhereAConnectionGoes(t *testing.T) {
	hits := make(chan string, 10)
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits <- r.URL.Path
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}
	}))
	defer there.Close()
	deliver := func(private bool, address string) webhook.Delivery {
		s := webhook.New(webhook.Options{AllowPrivate: private, Logger: slog.New(slog.DiscardHandler)})
		defer s.Close()
		r := rule
		r.URL = address
		s.Offer(r, late(1, 1))
		for {
			if d := s.Deliveries(r.ID); len(d) > 0 && d[0].Attempts > 0 {
				return d[0]
			}
		}
	}
	port := there.URL[strings.LastIndex(there.URL, ":"):]
	if d := deliver(false, "http://localhost"+port+"/"); d.Status != 0 || !strings.Contains(d.Error, "private network") {
		t.Errorf("a shared server: %+v", d)
	}
	if len(hits) > 0 {
		t.Errorf("the local address %s was reached", <-hits)
	}
	if d := deliver(true, "http://localhost"+port+"/"); d.State != webhook.Delivered {
		t.Errorf("a private server that is allowed: %+v", d)
	}
	<-hits
	if d := deliver(true, there.URL+"/away"); d.State != webhook.Failed || d.Status != http.StatusTemporaryRedirect {
		t.Errorf("a redirecting server: %+v", d)
	}
	if at := <-hits; at != "/away" || len(hits) > 0 {
		t.Errorf("the redirect to %s was followed", at)
	}
}

func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answer: func(_ int, r *http.Request) (int, error) { <-r.Context().Done(); return 0, r.Context().Err() }}
		s := webhook.New(webhook.Options{Transport: e, Logger: slog.New(slog.DiscardHandler)})
		s.Offer(rule, late(1, 1))
		synctest.Wait()
		began := time.Now()
		s.Close()
		s.Offer(rule, late(1, 1)) // the sender is closed
		synctest.Wait()
		if d := time.Since(began); d != 0 || len(e.all()) != 1 {
			t.Errorf("Close took %v, and there were %d requests", d, len(e.all()))
		}
	})
}

// TestPresent changes a rule while an event waits for its next attempt: the event is sent to the
// rule's new webhook, signed with its new secret, or is dropped.
func TestPresent(t *testing.T) {
	nobody := func(_ int, r *http.Request) (int, error) {
		if r.URL.Host == "there" {
			return 500, nil
		}
		return 204, nil
	}
	for name, tc := range map[string]struct {
		change   func(r *alert.Rule) error
		test     bool
		hosts    string // hosts that got requests
		state    webhook.State
		attempts int
	}{
		"elsewhere": {func(r *alert.Rule) error { r.URL, r.Secret = "http://elsewhere/", "another secret"; return nil }, false, "there/there/there/elsewhere", webhook.Delivered, 1},
		"nowhere":   {func(r *alert.Rule) error { r.URL, r.Secret = "", ""; return nil }, false, "there/there/there", webhook.Failed, 3},
		"off":       {func(r *alert.Rule) error { r.Off = true; return nil }, false, "there/there/there", webhook.Failed, 3},
		"off, test": {func(r *alert.Rule) error { r.Off, r.URL = true, "http://elsewhere/"; return nil }, true, "there/there/there/elsewhere", webhook.Delivered, 1},
		"removed":   {func(*alert.Rule) error { return alert.ErrNoRule }, false, "there/there/there", webhook.Failed, 3},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nobody, func(t *testing.T, s *webhook.Sender, e *endpoint) {
				var mu sync.Mutex
				is, none := rule, error(nil)
				s.SetLookup(func(id alert.ID) (alert.Status, error) {
					mu.Lock()
					defer mu.Unlock()
					if id != rule.ID {
						t.Errorf("the options of rule %d were requested", id)
					}
					return alert.Status{Rule: is}, none
				})
				a := late(1, 1)
				if tc.test {
					a = late(0, 0)
				}
				a.Test = tc.test
				s.Offer(rule, a)
				time.Sleep(4500 * time.Millisecond) // three attempts; the fourth would come after about 7 s
				mu.Lock()
				none = tc.change(&is)
				want := is.Secret
				mu.Unlock()
				time.Sleep(10 * time.Minute)
				var hosts []string
				for _, g := range e.all() {
					hosts = append(hosts, g.host)
				}
				if got := strings.Join(hosts, "/"); got != tc.hosts {
					t.Errorf("requests went to %s, want %s", got, tc.hosts)
				}
				all := e.all()
				if last := all[len(all)-1]; tc.state == webhook.Delivered && last.header.Get(webhook.SignatureHeader) != webhook.Sign(want, last.at, last.body) {
					t.Error("the signature is of another secret")
				}
				if d := s.Deliveries(rule.ID); len(d) != 1 || d[0].State != tc.state || d[0].Attempts != tc.attempts {
					t.Errorf("deliveries are %+v", d)
				}
			})
		})
	}
}

// TestTestMergedWithAlert asks for a test while a real alert waits: the merged event is not a
// test.
func TestTestMergedWithAlert(t *testing.T) {
	bubble(t, good, func(t *testing.T, s *webhook.Sender, e *endpoint) {
		test := late(0, 0)
		test.Test = true
		both := late(2, 2)
		both.Test = true
		for i, tc := range []struct {
			a    alert.Alert
			want bool
		}{{test, true}, {both, false}, {late(1, 1), false}} {
			s.Offer(rule, tc.a)
			time.Sleep(2 * time.Second)
			if all := e.all(); len(all) != i+1 || all[i].event.Data.Test != tc.want || s.Deliveries(rule.ID)[0].Test != tc.want {
				t.Errorf("%d requests, %+v", len(all), s.Deliveries(rule.ID)[0])
			}
		}
	})
}

func ExampleSign() {
	body := []byte(`{"specversion":"1.0"}`)
	header := webhook.Sign("correct horse", time.Unix(1783936800, 0), body) // the received Mayfly-Signature
	number, _, _ := strings.Cut(strings.TrimPrefix(header, "t="), ",")
	seconds, err := strconv.ParseInt(number, 10, 64)
	fmt.Println(err == nil && header == webhook.Sign("correct horse", time.Unix(seconds, 0), body))
	// Output: true
}
