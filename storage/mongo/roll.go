package mongo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// servers has what servers on the database know of each other.
const servers collection = "servers"

// secretDoc is what they know and nobody else: see [Catalogue.Secret].
type secretDoc struct {
	ID     string `bson:"_id"`
	V      int64  `bson:"v"`
	Secret []byte `bson:"secret"`
}

// secretID is after all that names of servers begin with.
const secretID = "~secret"

// Secret is 32 bytes that every server on the database knows, and nobody else who
// cannot read it. The first to ask makes them.
func (c *Catalogue) Secret(ctx context.Context) (secret [32]byte, err error) {
	on, err := c.server(ctx)
	if err != nil {
		return secret, err
	}
	d := secretDoc{ID: secretID, V: 1, Secret: make([]byte, len(secret))}
	_, _ = rand.Read(d.Secret) // never fails, by its contract
	raw, err := on.Get(ctx, servers, secretID)
	if err == nil && raw == nil {
		err = on.Insert(ctx, servers, marshal(d))
		if err != nil && !errors.Is(err, errTaken) {
			return secret, fmt.Errorf("make the secret of the store's servers: %w", err)
		}
		raw, err = on.Get(ctx, servers, secretID)
	}
	if err == nil {
		err = bson.Unmarshal(raw, &d)
	}
	if err == nil && len(d.Secret) != len(secret) {
		err = fmt.Errorf("it has %d bytes", len(d.Secret))
	}
	if err != nil {
		return secret, fmt.Errorf("read the secret of the store's servers: %w", err)
	}
	return [32]byte(d.Secret), nil
}

// serverDoc is a server that is alive.
type serverDoc struct {
	ID   string `bson:"_id"`
	V    int64  `bson:"v"`    // raised each time
	Owns int    `bson:"owns"` // namespaces
}

// silentAfter is how many times in a row a server has said nothing new before it is
// taken for gone, and forgottenAfter before its document goes too.
const (
	silentAfter    = 4
	forgottenAfter = 1000
)

// A sign is what was seen last of another server, and how often since.
type sign struct {
	v     int64
	again int
}

// Meet implements [fleet.Roll]. It is called again and again, and how often is how
// quickly one that is gone is missed: no two clocks are compared.
func (c *Catalogue) Meet(ctx context.Context, name string, owns int) (others map[string]int, err error) {
	on, err := c.server(ctx)
	if err != nil {
		return nil, err
	}
	c.beat++
	me := serverDoc{ID: name, V: c.beat, Owns: owns}
	if err := on.Apply(ctx, servers, []change{{id: me.ID, version: me.V, doc: marshal(me)}}); err != nil {
		return nil, fmt.Errorf("tell other servers of this one: %w", err)
	}
	others = map[string]int{}
	seen := map[string]sign{}
	var gone []string
	for raw, err := range on.Range(ctx, servers, span{from: "", to: secretID}) {
		if err != nil {
			return nil, fmt.Errorf("look which servers there are: %w", err)
		}
		var d serverDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return nil, fmt.Errorf("look which servers there are: %w", err)
		}
		if d.ID == name {
			continue
		}
		s, known := c.signs[d.ID]
		if !known || s.v != d.V {
			s = sign{v: d.V}
		} else {
			s.again++
		}
		seen[d.ID] = s
		switch {
		case s.again < silentAfter:
			others[d.ID] = d.Owns
		case s.again >= forgottenAfter:
			gone = append(gone, d.ID)
		}
	}
	c.signs = seen
	if len(gone) > 0 {
		if err := on.Delete(ctx, servers, gone); err != nil {
			return nil, fmt.Errorf("forget servers that are gone: %w", err)
		}
	}
	return others, nil
}

// Part implements [fleet.Roll].
func (c *Catalogue) Part(ctx context.Context, name string) error {
	on, err := c.server(ctx)
	if err != nil {
		return err
	}
	return on.Delete(ctx, servers, []string{name})
}
