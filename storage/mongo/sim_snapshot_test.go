package mongo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// A glance is what a reader that does not own the namespace has read.
type glance struct {
	got truth
	at  version
	// from and to are serials. What the reader has read must be the namespace as it was after a
	// commit of the final history: not before from, which was acknowledged before the read
	// began, and not after to, the last commit that had started when the read ended.
	from, to int
}

// A looker reads the namespace at random times.
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
	s, err := openSnapshotOn(ctx, c, nil, Options{Namespace: "sim", clock: c.clock, Logger: l.logger(c.name)})
	if err != nil {
		l.tell("%s: %v", c.name, err)
		return
	}
	defer s.Close()
	g := glance{from: l.judge.sure()}
	g.got, _, _, err = read(ctx, s)
	g.at, g.to = s.version, l.judge.begun()
	l.tell("%s has looked at epoch %d, commit %d: %v", c.name, s.version.epoch(), s.version.number(), err)
	if err == nil {
		l.judge.glanced(g)
	}
}

// sure returns the serial number of the last commit that was acknowledged as durable.
func (j *judge) sure() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.durable
}

// begun returns the serial number of the last commit that was started.
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

// compare checks all glances against the commits that survived, and reports those that differ. It
// must be called when it is certain which commits survived.
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
	since := 0 // index in history of the first commit after which it may have been read
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
