package mongo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// servers holds a document for each live server on the database, and their secret.
const servers collection = "servers"

// secretDoc is the secret that the servers share: see [Catalogue.Secret].
type secretDoc struct {
	ID     string `bson:"_id"`
	V      int64  `bson:"v"`
	Secret []byte `bson:"secret"`
}

// secretID sorts after every server's name.
const secretID = "~secret"

// Secret returns 32 random bytes that all servers on the database share and only readers of
// the database know. The first call creates them.
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
		if err != nil && !errors.Is(err, errDuplicateID) {
			return secret, fmt.Errorf("create the secret of the store's servers: %w", err)
		}
		raw, err = on.Get(ctx, servers, secretID)
	}
	if err == nil {
		err = bson.Unmarshal(raw, &d)
	}
	if err == nil && len(d.Secret) != len(secret) {
		err = fmt.Errorf("the secret has %d bytes", len(d.Secret))
	}
	if err != nil {
		return secret, fmt.Errorf("read the secret of the store's servers: %w", err)
	}
	return [32]byte(d.Secret), nil
}

// serverDoc describes a live server.
type serverDoc struct {
	ID   string `bson:"_id"`
	V    int64  `bson:"v"`    // incremented by each Heartbeat
	Owns int    `bson:"owns"` // number of namespaces
}

// silentAfter is how many times in a row a server's document was found unchanged before the
// server counts as gone, and forgottenAfter before its document is deleted.
const (
	silentAfter    = 4
	forgottenAfter = 1000
)

// A serverHeartbeat is the latest version seen of another server's document, and how often it
// was found unchanged.
type serverHeartbeat struct {
	version   int64
	unchanged int
}

// Heartbeat implements [namespaces.Membership]. It is called periodically. The period
// determines how soon a dead server is noticed, because the clocks of two machines are never
// compared.
func (c *Catalogue) Heartbeat(ctx context.Context, name string, owns int) (others map[string]int, err error) {
	on, err := c.server(ctx)
	if err != nil {
		return nil, err
	}
	c.heartbeat++
	me := serverDoc{ID: name, V: c.heartbeat, Owns: owns}
	if err := on.Apply(ctx, servers, []change{{id: me.ID, version: me.V, doc: marshal(me)}}); err != nil {
		return nil, fmt.Errorf("register this server: %w", err)
	}
	others = map[string]int{}
	seen := map[string]serverHeartbeat{}
	var gone []string
	for raw, err := range on.Range(ctx, servers, idRange{from: "", to: secretID}) {
		if err != nil {
			return nil, fmt.Errorf("list the servers: %w", err)
		}
		var d serverDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return nil, fmt.Errorf("list the servers: %w", err)
		}
		if d.ID == name {
			continue
		}
		s, known := c.others[d.ID]
		if !known || s.version != d.V {
			s = serverHeartbeat{version: d.V}
		} else {
			s.unchanged++
		}
		seen[d.ID] = s
		switch {
		case s.unchanged < silentAfter:
			others[d.ID] = d.Owns
		case s.unchanged >= forgottenAfter:
			gone = append(gone, d.ID)
		}
	}
	c.others = seen
	if len(gone) > 0 {
		if err := on.Delete(ctx, servers, gone); err != nil {
			return nil, fmt.Errorf("remove servers that have stopped: %w", err)
		}
	}
	return others, nil
}

// Deregister implements [namespaces.Membership].
func (c *Catalogue) Deregister(ctx context.Context, name string) error {
	on, err := c.server(ctx)
	if err != nil {
		return err
	}
	return on.Delete(ctx, servers, []string{name})
}
