package mongo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// A glance is what somebody found who looked at the namespace without owning it.
type glance struct {
	got truth
	at  version
	// It must be the namespace as it was after a commit of the final history: not
	// before the one with the first serial, which had been acknowledged when the
	// look began, and not after the other, the last that had been begun when it
	// ended.
	from, to int
}

// A looker looks now and then.
type looker struct {
	*world
	*rand.Rand
}

func (l *looker) live() {
	for n := 0; !l.over(); n++ {
		rest(upTo(l.Rand, 3*l.lease))
		c := l.connect(fmt.Sprint("looker ", n), l.weather)
		l.look(c)
		c.kill()
	}
}

func (l *looker) look(c *client) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+l.IntN(10))*l.lease)
	defer cancel()
	s, err := lookOn(ctx, c, nil, Options{Namespace: "sim", clock: c.clock, Logger: l.logger(c.name)})
	if err != nil {
		l.tell("%s: %v", c.name, err)
		return
	}
	defer s.Close()
	g := glance{from: l.judge.sure()}
	g.got, _, _, err = read(ctx, s)
	g.at, g.to = s.at, l.judge.begun()
	l.tell("%s has looked at epoch %d, commit %d: %v", c.name, s.at.epoch(), s.at.number(), err)
	if err == nil {
		l.judge.glanced(g)
	}
}

// sure is the serial of the last commit that was acknowledged as durable.
func (j *judge) sure() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.durable
}

// begun is the serial of the last commit that was begun.
func (j *judge) begun() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.serial
}

func (j *judge) glanced(g glance) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.glances = append(j.glances, g)
	j.tally.glances++
}

// compare judges all glances, when it is known what of each epoch remained.
func (j *judge) compare() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, g := range j.glances {
		if d := j.compareOne(g); d != "" {
			j.wrong("a look at epoch %d, commit %d, from %d to %d: %s", g.at.epoch(), g.at.number(), g.from, g.to, d)
		}
	}
}

func (j *judge) compareOne(g glance) string {
	state := truth{}
	since := 0 // of history: from here on it may have been seen
	for i, c := range j.history {
		if c.serial <= g.from {
			since = i + 1
		}
	}
	nearest := "there was no such time"
	for i := 0; ; i++ {
		if i >= since {
			d := differ(state.visible(), g.got)
			if d == "" {
				return ""
			}
			nearest = shorter(nearest, fmt.Sprintf("after %d of %d commits\n\t%s", i, len(j.history), d))
		}
		if i == len(j.history) || j.history[i].serial > g.to {
			return nearest
		}
		state.apply(j.history[i].batch)
	}
}

func shorter(a, b string) string {
	if len(b) < len(a) || a == "there was no such time" {
		return b
	}
	return a
}
