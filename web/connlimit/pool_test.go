package connlimit

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// fake is a connection that has only an address. Like every net.Conn it may be closed by
// several goroutines at once.
type fake struct {
	net.Conn
	at     string
	closed atomic.Bool
}

func (f *fake) RemoteAddr() net.Addr { return clientAddr(f.at + ":1") }
func (f *fake) Close() error         { f.closed.Store(true); return nil }

func budget(t interface{ Helper() }, most int) *Budget {
	t.Helper()
	return New(Options{Max: most, Logger: slog.New(slog.DiscardHandler)})
}

// arrive returns a new connection from an address.
func arrive(b *Budget, at string) *Conn {
	c := b.conn(&fake{at: at}, AMQP)
	b.placeConn(c, false)
	return c
}

func (c *Conn) isClosed() bool { return c.Conn.(*fake).closed.Load() }

// TestOrder checks the order in which connections are closed, with one test for each
// step.
func TestOrder(t *testing.T) {
	use := func(b *Budget, at string, credit bool) *Conn {
		c := arrive(b, at)
		c.Opened(true)
		c.Use(true, credit)
		return c
	}
	for name, tc := range map[string]struct {
		most int
		make func(b *Budget) (kept []*Conn, goes *Conn) // nil if the new connection gets no place
	}{
		"an unfinished handshake before all else": {4, func(b *Budget) ([]*Conn, *Conn) {
			link, tokenless, linkless := use(b, "192.0.2.1", true), arrive(b, "192.0.2.1"), arrive(b, "192.0.2.1")
			tokenless.Opened(false)
			linkless.Opened(true)
			return []*Conn{link, tokenless, linkless}, arrive(b, "192.0.2.2")
		}},
		"then one without a token": {3, func(b *Budget) ([]*Conn, *Conn) {
			link, linkless, tokenless := use(b, "192.0.2.1", true), arrive(b, "192.0.2.1"), arrive(b, "192.0.2.1")
			tokenless.Opened(false)
			linkless.Opened(true)
			return []*Conn{link, linkless}, tokenless
		}},
		"even if it has a link": {2, func(b *Budget) ([]*Conn, *Conn) {
			linkless, tokenless := arrive(b, "192.0.2.1"), arrive(b, "192.0.2.1")
			tokenless.Opened(false)
			tokenless.Use(true, true)
			linkless.Opened(true)
			return []*Conn{linkless}, tokenless
		}},
		"then one without a link": {3, func(b *Budget) ([]*Conn, *Conn) {
			link, linkless, other := use(b, "192.0.2.1", true), arrive(b, "192.0.2.2"), use(b, "192.0.2.1", false)
			linkless.Opened(true)
			return []*Conn{link, other}, linkless
		}},
		"then the oldest of the address that has most": {4, func(b *Budget) ([]*Conn, *Conn) {
			quiet, first, second, third := use(b, "192.0.2.2", false), use(b, "192.0.2.1", true), use(b, "192.0.2.1", true), use(b, "192.0.2.1", true)
			return []*Conn{quiet, second, third}, first
		}},
		"within their shares, one without credit": {4, func(b *Budget) ([]*Conn, *Conn) {
			a, q, c, d := use(b, "192.0.2.1", true), use(b, "192.0.2.2", false), use(b, "192.0.2.3", true), use(b, "192.0.2.4", false)
			return []*Conn{a, c, d}, q
		}},
		"within their shares, none with credit": {4, func(b *Budget) ([]*Conn, *Conn) {
			return []*Conn{use(b, "192.0.2.1", true), use(b, "192.0.2.2", true), use(b, "192.0.2.3", true), use(b, "192.0.2.4", true)}, nil
		}},
		"a network of IPv6 is one address": {4, func(b *Budget) ([]*Conn, *Conn) {
			a, first, second, q := use(b, "192.0.2.1", true), use(b, "[2001:db8::1]", true), use(b, "[2001:db8::2]", true), use(b, "192.0.2.3", false)
			return []*Conn{a, second, q}, first
		}},
		"the oldest of those that flood": {4, func(b *Budget) ([]*Conn, *Conn) {
			slow, first, second, third := arrive(b, "192.0.2.1"), arrive(b, "192.0.2.2"), arrive(b, "192.0.2.2"), arrive(b, "192.0.2.2")
			return []*Conn{slow, second, third}, first
		}},
		"of other servers, none": {2, func(b *Budget) ([]*Conn, *Conn) {
			one, two := arrive(b, "192.0.2.1"), arrive(b, "192.0.2.1")
			one.Exempt()
			two.Exempt()
			return []*Conn{one, two}, nil
		}},
		"a client that another server tells": {4, func(b *Budget) ([]*Conn, *Conn) {
			a, first, second, third := use(b, "192.0.2.9", true), use(b, "192.0.2.1", true), use(b, "192.0.2.2", true), use(b, "192.0.2.2", true)
			first.SetClient("192.0.2.9:77")
			a.SetClient("")
			third.SetClient("192.0.2.3:77")
			return []*Conn{first, second, third}, a
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := budget(t, tc.most)
			kept, goes := tc.make(b)
			for i, c := range append(kept, goes) {
				if c != nil && c.isClosed() {
					t.Fatalf("connection %d was closed though there was room", i)
				}
			}
			added := arrive(b, "192.0.2.200")
			for i, c := range kept {
				if c.isClosed() {
					t.Errorf("connection %d was closed", i)
				}
			}
			if goes != nil && !goes.isClosed() {
				t.Error("the expected connection was not closed")
			}
			if added.isClosed() || added.Admit() != (goes != nil) {
				t.Errorf("the new connection has a place: %v", goes == nil)
			}
		})
	}
}

// TestHandshakesMayFinish checks that up to a sixteenth of the budget may be in their handshake:
// only beyond that is the oldest of them closed for a new connection.
func TestHandshakesMayFinish(t *testing.T) {
	b := budget(t, 32)
	for range 30 {
		c := arrive(b, "192.0.2.1")
		c.Opened(true)
		c.Use(true, true)
	}
	slow := []*Conn{arrive(b, "192.0.2.2"), arrive(b, "192.0.2.3")} // the budget is used up
	if slow[0].isClosed() || slow[1].isClosed() {
		t.Error("a connection was closed during its handshake in favour of another")
	}
	if slow = append(slow, arrive(b, "192.0.2.4")); !slow[0].isClosed() || slow[1].isClosed() {
		t.Error("of over a sixteenth of the budget, a connection other than the oldest was closed")
	}
	if n := b.Counts().Open[Handshake]; n != 2 {
		t.Errorf("%d connections are in their handshake", n)
	}
}

// TestEmergency checks that with a full budget at most maxEmergency further connections are kept,
// the newest ones, and that the next one to ask gets the place of a connection that closes.
func TestEmergency(t *testing.T) {
	b := budget(t, 1)
	c := arrive(b, "192.0.2.1")
	c.Exempt()
	var all []*Conn
	for range maxEmergency + 1 {
		all = append(all, arrive(b, "192.0.2.2"))
	}
	if !all[0].isClosed() || slices.ContainsFunc(all[1:], (*Conn).isClosed) {
		t.Error("a connection other than the first was closed")
	}
	if last := all[maxEmergency]; last.Admit() {
		t.Error("a connection got a place though none was free")
	} else if _ = c.Close(); !last.Admit() || last.phase != admitted {
		t.Error("a connection got no place though one was free")
	}
	if n := b.Counts().Closed[Refused]; n != 1 {
		t.Errorf("%d connections were refused", n)
	}
	for _, c := range all {
		_ = c.Close()
	}
	if b.all.n != 0 || len(b.emergency[AMQP]) != 0 {
		t.Errorf("%d and %d are left", b.all.n, len(b.emergency[AMQP]))
	}
}

// modelled is a connection in the model below.
type modelled struct {
	c       *Conn
	at      string
	st      Stage
	credit  bool
	since   int
	grouped bool
}

// modelChoose makes the same choice as choose by looking at all connections.
func modelChoose(all []*modelled, most int, own string) *modelled {
	most = max(most, 1)
	oldest := func(of func(*modelled) bool, above int) *modelled {
		count := map[string]int{}
		for _, m := range all {
			if of(m) {
				count[m.at]++
			}
		}
		var best *modelled
		for _, m := range all {
			if of(m) && count[m.at] > above && (best == nil || count[m.at] > count[best.at] || count[m.at] == count[best.at] && m.since < best.since) {
				best = m
			}
		}
		return best
	}
	handshakes := 0
	for _, m := range all {
		if m.st == Handshake {
			handshakes++
		}
	}
	first := oldest(func(m *modelled) bool { return m.st == Handshake }, 0)
	if first != nil && handshakes >= min(most/16, 64) {
		return first
	}
	for _, of := range []struct {
		is     func(*modelled) bool
		above  int
		others bool
	}{
		{func(m *modelled) bool { return m.st == Unauthenticated }, 0, false},
		{func(m *modelled) bool { return m.st == Unused }, 0, false},
		{func(m *modelled) bool { return m.st == Used }, max(1, most/4), true},
		{func(m *modelled) bool { return m.st == Used && !m.credit }, 0, true},
	} {
		if found := oldest(of.is, of.above); found != nil && (!of.others || found.at != own) {
			return found
		}
	}
	return first
}

// TestChoiceByModel checks after random steps that the budget and a group match a model
// that looks at all connections for each choice.
func TestChoiceByModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		most, mostOfGroup := rapid.IntRange(1, 40).Draw(r, "most"), rapid.IntRange(1, 8).Draw(r, "most of the group")
		b := budget(t, most)
		g := b.NewGroup()
		var all []*modelled
		clock := 0
		drop := func(m *modelled) { all = slices.DeleteFunc(all, func(o *modelled) bool { return o == m }) }
		addresses := rapid.SampledFrom([]string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6", "192.0.2.7"})
		for i := range rapid.IntRange(1, 200).Draw(r, "steps") {
			clock++
			step := rapid.IntRange(0, 9).Draw(r, "step")
			var m *modelled
			if step > 3 && len(all) > 0 {
				m = rapid.SampledFrom(all).Draw(r, "connection")
			} else if step > 3 {
				continue
			}
			to := func(st Stage) {
				if st != m.st {
					m.st, m.since = st, clock
				}
			}
			switch step {
			case 0, 1, 2, 3:
				at := addresses.Draw(r, "address")
				goes := modelChoose(all, most, "")
				c := arrive(b, at)
				if len(all) >= most && goes == nil {
					if c.phase != emergency {
						r.Fatalf("step %d: a connection got a place that the model refuses", i)
					}
					_ = c.Close()
					continue
				}
				if len(all) >= most {
					drop(goes)
				}
				all = append(all, &modelled{c: c, at: at, since: clock})
			case 4:
				m.c.Opened(true)
				m.c.Use(false, false)
				to(Unused)
			case 5:
				m.c.Opened(false)
				if m.st == Handshake {
					to(Unauthenticated)
				}
			case 6:
				credit := rapid.Bool().Draw(r, "credit")
				m.c.Opened(true)
				m.c.Use(true, credit)
				m.credit = credit
				to(Used)
			case 7:
				m.c.RestartHandshake()
				m.credit = false
				to(Handshake)
			case 8:
				_ = m.c.Close()
				drop(m)
			case 9:
				if m.grouped || m.st == Handshake {
					continue
				}
				var in []*modelled
				for _, o := range all {
					if o.grouped {
						in = append(in, o)
					}
				}
				goes := modelChoose(in, mostOfGroup, m.at)
				ok := g.Join(m.c, mostOfGroup)
				if ok != (len(in) < mostOfGroup || goes != nil) {
					r.Fatalf("step %d: joining is %v", i, ok)
				}
				if m.grouped = ok; len(in) >= mostOfGroup && goes != nil {
					drop(goes)
				}
			}
			open := 0
			for _, m := range all {
				if m.c.phase != admitted || m.c.isClosed() || m.c.rank().stage != m.st {
					r.Fatalf("step %d: the connection of %s in stage %v is %v, closed %v", i, m.at, m.st, m.c.rank(), m.c.isClosed())
				}
				open++
			}
			if b.all.n != open {
				r.Fatalf("step %d: got %d connections, want %d", i, b.all.n, open)
			}
			if err := b.all.check(); err != nil {
				r.Fatal(err)
			}
		}
	})
}

// check returns an error if a pool is inconsistent.
func (p *pool) check() error {
	n := 0
	for i := range p.stages {
		r := &p.stages[i]
		sum := 0
		for key, h := range r.byKey {
			if len(h.conns.items) == 0 || h.key != key || r.byCount.items[h.index] != h {
				return fmt.Errorf("stage %d: the entry of %s is wrong", i, key)
			}
			sum += len(h.conns.items)
			for j, e := range h.conns.items {
				if e.index != j || e.group != h {
					return fmt.Errorf("stage %d: entry %d of %s is wrong", i, j, key)
				}
			}
		}
		if sum != r.n || len(r.byKey) != len(r.byCount.items) {
			return fmt.Errorf("stage %d: has %d, and counts %d", i, sum, r.n)
		}
		n += sum
	}
	if n != p.n {
		return fmt.Errorf("the stages have %d of %d", n, p.n)
	}
	return nil
}

// TestGroup checks that an address that reaches a group's limit alone gets an error and
// loses no used connection, and that another address gets its share.
func TestGroup(t *testing.T) {
	b := budget(t, 100)
	g := b.NewGroup()
	join := func(at string) (*Conn, bool) {
		c := arrive(b, at)
		c.Opened(true)
		ok := g.Join(c, 4)
		c.Use(true, true)
		return c, ok
	}
	var all []*Conn
	for i := range 5 {
		c, ok := join("192.0.2.1")
		if ok != (i < 4) {
			t.Errorf("the connection at %d joins: %v", i, ok)
		}
		all = append(all, c)
	}
	if slices.ContainsFunc(all, (*Conn).isClosed) {
		t.Error("a connection was closed in favour of the same address")
	}
	if _, ok := join("192.0.2.2"); !ok || !all[0].isClosed() || all[1].isClosed() {
		t.Errorf("another address joins: %v, and a connection other than its oldest was closed", ok)
	}
}
