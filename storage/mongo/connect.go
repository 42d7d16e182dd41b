package mongo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

const (
	defaultDatabase = "mayfly"
	// findWithin is how long the driver looks for a server that takes writes: at the start,
	// and in each operation after an election. The connection string may override it.
	findWithin = 10 * time.Second
	// maxConnecting is how many connections are made at once: many namespaces may be taken
	// over at the same moment.
	maxConnecting = 16
	// idleFor is how long an unused connection is kept.
	idleFor = time.Minute
	// hangUpWithin is the time limit for disconnecting after a failed attempt to connect.
	hangUpWithin = time.Second
)

// facts are what a server reported about itself when the client connected. The protocol is
// correct without them.
type facts struct {
	database      string
	version       string // of MongoDB, or of its protocol; empty if unknown
	ferretVersion string // version of FerretDB; empty if not FerretDB
	set           string // name of the replica set; empty means none
	sharded       bool
	sessions      bool // it reports an operation time, for causally consistent sessions
}

// connect connects to the database that a connection string names, by default "mayfly", with a
// client of its own if clients is nil. The error is one sentence for the author of the string,
// and never contains the string.
func connect(ctx context.Context, url string, clients *Clients, log *slog.Logger) (*database, facts, error) {
	a, err := parse(url)
	if err != nil {
		return nil, facts{}, err
	}
	return connectTo(ctx, url, a, cmp.Or(clients, new(Clients)), log)
}

func connectTo(ctx context.Context, url string, a connString, clients *Clients, log *slog.Logger) (*database, facts, error) {
	client, err := clients.take(url, a)
	if err != nil {
		return nil, facts{}, err
	}
	d := &database{client: client, db: client.Database(a.database), log: log}
	if err := d.probe(ctx); err != nil {
		parting, cancel := context.WithTimeout(context.WithoutCancel(ctx), hangUpWithin)
		defer cancel()
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, facts{}, errors.Join(context.Cause(ctx), d.close(parting))
		}
		return nil, facts{}, errors.Join(a.explain(err, &client.failures), d.close(parting))
	}
	d.facts.database = a.database
	args := []any{"servers", strings.Join(a.options.Hosts, ","), "database", a.database, "version", d.facts.version}
	if d.facts.ferretVersion != "" {
		args = append(args, "ferretdb", d.facts.ferretVersion)
	}
	if d.facts.set != "" {
		args = append(args, "replica_set", d.facts.set)
	}
	log.Info("connected to MongoDB", append(args, "sharded", d.facts.sharded)...)
	return d, d.facts, nil
}

// probe asks the server for its kind and version, and reads a document to check that this user is
// authorized. Connecting alone proves nothing: it succeeds without any server.
func (d *database) probe(ctx context.Context) error {
	if err := d.client.Ping(ctx, readpref.Primary()); err != nil {
		return err
	}
	admin := d.client.Database("admin")
	var hello struct {
		Set       string `bson:"setName"`
		Message   string `bson:"msg"`
		Secondary bool   `bson:"secondary"`
		Sessions  *int   `bson:"logicalSessionTimeoutMinutes"`
	}
	err := admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello)
	if commandUnknown(err) { // 4.4.0 and 4.4.1, and servers that imitate older ones
		err = admin.RunCommand(ctx, bson.D{{Key: "isMaster", Value: 1}}).Decode(&hello)
	}
	if err != nil {
		return err
	}
	d.facts.set, d.facts.sharded, d.facts.sessions = hello.Set, hello.Message == "isdbgrid", hello.Sessions != nil
	if hello.Secondary {
		return errSecondary
	}
	var build struct {
		Version string `bson:"version"`
		Ferret  string `bson:"ferretdbVersion"`
	}
	if err := admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil && !unauthorized(err) {
		return err
	}
	d.facts.version, d.facts.ferretVersion = build.Version, build.Ferret
	_, err = d.Get(ctx, settings, "") // the commands above need no authorization
	return err
}

// errSecondary means that the connection string names a single member, which is not the
// primary.
var errSecondary = errors.New("not the primary")

// A connString is a parsed connection string.
type connString struct {
	options  *options.ClientOptions
	database string
}

// parse parses a connection string. Its options for write safety and for time-outs of single
// operations are ignored: the protocol decides those.
func parse(text string) (connString, error) {
	a := connString{options: options.Client().SetAppName("mayfly").SetServerSelectionTimeout(findWithin).SetConnectTimeout(findWithin).SetMaxPoolSize(0).SetMaxConnecting(maxConnecting).SetMaxConnIdleTime(idleFor).ApplyURI(text)}
	if err := a.options.Validate(); err != nil {
		return connString{}, explainConnectionString(text, err)
	}
	a.options.SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: new(true)}).
		SetReadConcern(readconcern.Majority()).SetReadPreference(readpref.Primary()).
		SetRetryWrites(false)
	a.options.Timeout = nil
	name, err := databaseIn(text)
	if err != nil {
		return connString{}, err
	}
	a.database = name
	return a, nil
}

// databaseIn returns the database that a valid connection string names, or defaultDatabase if it
// names none. The error is about a name that cannot be used.
func databaseIn(text string) (string, error) {
	_, rest, _ := strings.Cut(text, "://")
	if _, after, ok := strings.Cut(rest, "@"); ok {
		rest = after
	}
	rest, _, _ = strings.Cut(rest, "?")
	_, name, _ := strings.Cut(rest, "/")
	name, err := url.PathUnescape(name)
	switch {
	case err != nil:
		return "", newConnectError("the connection string for MongoDB is invalid: the name of the database is not correctly percent-encoded", err)
	case name == "":
		return defaultDatabase, nil
	case name == "admin" || name == "local" || name == "config":
		return "", newConnectError(fmt.Sprintf("the database %q is reserved by MongoDB: use another one in the connection string, or none for %q", name, defaultDatabase), nil)
	case len(name) > 63 || strings.ContainsAny(name, "/\\. \"$*<>:|?\x00"):
		return "", newConnectError(fmt.Sprintf("%q cannot be the name of a database: use at most 63 bytes, without spaces and any of /\\.\"$*<>:|?", name), nil)
	}
	return name, nil
}
