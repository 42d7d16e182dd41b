package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/enginetest"
	"mayfly/web/webtest"
)

// An executor runs a scenario over HTTP, without a network.
type executor struct {
	t      *testing.T
	house  *enginetest.Operator
	lists  bool // send a list even for one message; otherwise only for several
	held   map[string]enginetest.LockedMessage
	client *http.Client
	ends   []func()
}

// A pipes is a listener of in-memory connections.
type pipes struct {
	conns chan net.Conn
	gone  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.gone:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.gone); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (s *executor) begin() error {
	b, err := s.house.Broker()
	if err != nil {
		return err
	}
	e := echo.New()
	log := slog.New(slog.DiscardHandler)
	Mount(e, Options{Broker: b, Logger: log})
	l := pipes{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: e, ErrorLog: slog.NewLogLogger(log.Handler(), 0)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		l.conns <- theirs
		return ours, nil
	}}
	s.client = &http.Client{Transport: transport}
	s.ends = append(s.ends, func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			s.t.Error(err)
		}
	})
	return nil
}

func (s *executor) end() {
	for _, end := range s.ends {
		end()
	}
	if b, err := s.house.Broker(); err != nil {
		s.t.Error(err)
	} else if err := b.Close(); err != nil {
		s.t.Error(err)
	}
}

// Do runs a client's command.
func (s *executor) Do(c enginetest.Command) ([]string, error) {
	if c.Name == "limit" {
		return nil, enginetest.ErrUnsupported
	}
	if s.client == nil {
		if err := s.begin(); err != nil {
			return nil, err
		}
	}
	switch c.Name {
	case "send":
		return nil, s.send(c)
	case "receive":
		return s.receive(c)
	case "complete":
		return nil, s.atLock(c, http.MethodDelete)
	case "abandon":
		if len(c.Options) > 0 {
			return nil, fmt.Errorf("unlocking changes no properties: %w", enginetest.ErrUnsupported)
		}
		return nil, s.atLock(c, http.MethodPut)
	case "renew":
		return nil, s.atLock(c, http.MethodPost)
	default:
		return nil, enginetest.ErrUnsupported
	}
}

// ask sends a request. It returns a Refused for a refusal.
func (s *executor) ask(method, path, query, body string, header http.Header) (webtest.Answer, error) {
	u := url.URL{Scheme: "http", Host: "localhost", Path: "/" + path, RawQuery: query}
	r, err := http.NewRequestWithContext(s.t.Context(), method, u.String(), strings.NewReader(body))
	if err != nil {
		return webtest.Answer{}, err
	}
	maps.Copy(r.Header, header)
	got, err := s.client.Do(r)
	if err != nil {
		return webtest.Answer{}, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode >= 300 {
		err = refusedAs(got.StatusCode, string(text))
	}
	return webtest.Answer{StatusCode: got.StatusCode, Header: got.Header, Body: string(text)}, err
}

// refusedAs returns the error for a status and its sub-code.
func refusedAs(status int, text string) error {
	sub := ""
	if m := regexp.MustCompile(`SubCode=(\d+)\.`).FindStringSubmatch(text); m != nil {
		sub = m[1]
	}
	for _, known := range []struct {
		status int
		sub    string
		err    error
	}{
		{410, "40400", engine.ErrNotFound}, {404, "", engine.ErrLockLost}, {403, "", engine.ErrDisabled}, {403, "40300", engine.ErrTooLarge},
		{400, "40301", engine.ErrNotAllowed}, {400, "40000", engine.ErrArgument},
	} {
		if known.status == status && known.sub == sub {
			return enginetest.AsRefused(known.err)
		}
	}
	return fmt.Errorf("no error of scenarios has the status %d %s", status, text)
}

func (s *executor) send(c enginetest.Command) error {
	if c.Options["within"]+c.Options["via"] != "" {
		return enginetest.ErrUnsupported
	}
	type item struct {
		Body             string
		BrokerProperties map[string]any
		UserProperties   map[string]string `json:",omitempty"`
	}
	var list []item
	header := http.Header{}
	for _, body := range c.Args[1:] {
		m := item{Body: body, BrokerProperties: map[string]any{}, UserProperties: map[string]string{}}
		for _, name := range c.Names {
			text := c.Options[name]
			switch name {
			case "id":
				m.BrokerProperties["MessageId"] = text
			case "session":
				m.BrokerProperties["SessionId"] = text
			case "size":
				n, err := strconv.Atoi(text)
				if err != nil {
					return err
				}
				m.Body += strings.Repeat(" ", max(0, n-len(body)))
			case "ttl", "in":
				d, never, err := engine.ParseDuration(text)
				switch {
				case err != nil:
					return err
				case name == "in":
					m.BrokerProperties["ScheduledEnqueueTimeUtc"] = time.Now().Add(d).UTC().Format(time.RFC3339Nano)
				case !never:
					m.BrokerProperties["TimeToLive"] = d.Seconds()
				}
			default:
				m.UserProperties[name] = text
				header[name] = []string{strconv.Quote(text)}
			}
		}
		list = append(list, m)
	}
	body := list[0].Body
	if s.lists || len(list) > 1 {
		raw, err := json.Marshal(list)
		if err != nil {
			return err
		}
		body, header = string(raw), http.Header{"Content-Type": {batchType}}
	} else {
		raw, err := json.Marshal(list[0].BrokerProperties)
		if err != nil {
			return err
		}
		header["BrokerProperties"] = []string{string(raw)}
	}
	got, err := s.ask(http.MethodPost, c.Path(0)+"/messages", "", body, header)
	if err == nil && got.StatusCode != http.StatusCreated {
		err = fmt.Errorf("a send returned %d", got.StatusCode)
	}
	if err == nil {
		err = enginetest.ErrNoResult
	}
	return err
}

func (s *executor) receive(c enginetest.Command) (lines []string, err error) {
	n := 1
	if text := c.Options["n"]; text != "" {
		if n, err = strconv.Atoi(text); err != nil {
			return nil, err
		}
	}
	method, status := http.MethodPost, http.StatusCreated
	if slices.Contains(c.Args, "delete") {
		method, status = http.MethodDelete, http.StatusOK
	}
	for len(lines) < n {
		got, err := s.ask(method, c.Path(0)+"/messages/head", "timeout=0", "", nil)
		if err != nil {
			return nil, err
		}
		if got.StatusCode == http.StatusNoContent {
			break
		}
		if got.StatusCode != status {
			return nil, fmt.Errorf("a receive returned %d", got.StatusCode)
		}
		line, err := s.read(c, got, strings.TrimRight(got.Body, " "))
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	if lines == nil {
		lines = []string{"nothing"}
	}
	return lines, nil
}

// read returns a received message as a line of the scenario, and stores its lock for later
// commands.
func (s *executor) read(c enginetest.Command, got webtest.Answer, body string) (string, error) {
	var p brokerPropertiesJSON
	if err := json.Unmarshal([]byte(got.Header.Get("BrokerProperties")), &p); err != nil {
		return "", fmt.Errorf("the broker properties: %w", err)
	}
	m := enginetest.ShownMessage{Number: p.SequenceNumber, Body: body, Failed: int(p.DeliveryCount) - 1, Properties: map[string]string{}}
	if p.TimeToLive != neverSeconds && !engine.Path(c.Path(0)).IsDeadLetter() {
		at, err := time.Parse(http.TimeFormat, p.EnqueuedTimeUTC)
		if err != nil {
			return "", err
		}
		m.Expiring, m.Expires = true, time.Until(at.Add(time.Duration(p.TimeToLive*float64(time.Second))))
	}
	for name, values := range got.Header {
		if isReserved(name) {
			continue
		}
		var text string
		if err := json.Unmarshal([]byte(values[0]), &text); err != nil {
			return "", fmt.Errorf("the property %s: %w", name, err)
		}
		if !strings.HasPrefix(name, "DeadLetter") && !strings.HasPrefix(name, "Deadletter") {
			name = strings.ToLower(name) // HTTP changes the case
		}
		for _, proper := range []string{"DeadLetterReason", "DeadLetterErrorDescription"} {
			if strings.EqualFold(name, proper) {
				name = proper
			}
		}
		m.Properties[name] = text
	}
	if p.LockToken == "" {
		return m.String(), nil
	}
	token, err := engine.ParseLockToken(p.LockToken)
	if want := "http://localhost/" + strings.ReplaceAll(url.PathEscape(c.Path(0)), "%2F", "/") + fmt.Sprintf("/messages/%d/%s", p.SequenceNumber, p.LockToken); got.Header.Get("Location") != want {
		return "", fmt.Errorf("the location is %s, want %s", got.Header.Get("Location"), want)
	}
	s.held[body] = enginetest.LockedMessage{Token: token, Path: engine.Path(c.Path(0)), Seq: engine.Seq(p.SequenceNumber)}
	return m.String(), err
}

// atLock sends a request for the latest delivery with a body.
func (s *executor) atLock(c enginetest.Command, method string) error {
	if c.Options["within"] != "" {
		return enginetest.ErrUnsupported
	}
	m, ok := s.held[c.Arg(0)]
	if !ok {
		return fmt.Errorf("no client has received %q", c.Arg(0))
	}
	_, err := s.ask(method, fmt.Sprintf("%s/messages/%d/%s", m.Path, m.Seq, m.Token), "", "", nil)
	return err
}
