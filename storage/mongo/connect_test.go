package mongo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"mayfly/storage/mongo/mongotest"
)

// quick sets short time-outs, which are still long enough for any server that answers at all.
const quick = "serverSelectionTimeoutMS=3000&connectTimeoutMS=2500"

// sentence returns the error of connect, and checks that neither it nor the log contains a
// secret.
func sentence(t *testing.T, url string, secrets ...string) error {
	t.Helper()
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d, _, err := connect(t.Context(), url, nil, log)
	if err == nil {
		closeAfter(t, d)
		t.Fatal("connected")
	}
	for _, s := range secrets {
		if strings.Contains(err.Error(), s) || strings.Contains(logged.String(), s) {
			t.Errorf("%q is in the error or the log:\n%v\n%s", s, err, &logged)
		}
	}
	return err
}

func TestConnect(t *testing.T) {
	var logged bytes.Buffer
	url := mongotest.URL(t)
	d, got, err := connect(t.Context(), url, nil, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, d)
	if name := url[strings.LastIndex(url, "/")+1:]; got.version == "" || !strings.HasPrefix(name, got.database) {
		t.Errorf("%s is %+v", url, got)
	}
	if !mongotest.Real() && got.ferretVersion == "" {
		t.Error("the test server was not recognized as FerretDB")
	}
	lines := strings.Split(strings.TrimSpace(logged.String()), "\n")
	if len(lines) != 1 || !strings.Contains(lines[0], "version="+got.version) {
		t.Errorf("the log says:\n%s", &logged)
	}
}

func TestConnectToAReplicaSetWithAPassword(t *testing.T) {
	f := startFake(t)
	f.hello = helloPrimary(f.host)
	f.reply = func(name string, _ bson.Raw) bson.D {
		if name == "buildInfo" {
			return bson.D{{Key: "ok", Value: 1}, {Key: "version", Value: "8.0.4"}}
		}
		return nil
	}
	var logged bytes.Buffer
	d, got, err := connect(t.Context(), f.url()+"&replicaSet=rs0", nil, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, d)
	want(t, "mayfly", d.db.Name())
	if got.set != "rs0" || got.sharded || got.version != "8.0.4" || got.database != "mayfly" {
		t.Errorf("the server's facts are %+v", got)
	}
	if !strings.Contains(logged.String(), "replica_set=rs0") {
		t.Errorf("the log says: %s", &logged)
	}
}

// Servers that imitate older versions of MongoDB have neither hello nor sessions.
func TestConnectToAnOlderKind(t *testing.T) {
	f := startFake(t)
	f.hello = slices.DeleteFunc(helloAlone(), func(e bson.E) bool { return e.Key == "logicalSessionTimeoutMinutes" || e.Key == "helloOk" })
	f.without = "hello"
	use(t, f.open(t))
	for _, c := range f.commands("insert") {
		if id, err := c.LookupErr("lsid"); err == nil {
			t.Errorf("a command has a session: %v", id)
		}
	}
}

func TestConnectToShards(t *testing.T) {
	f := startFake(t)
	f.hello = append(helloAlone(), bson.E{Key: "msg", Value: "isdbgrid"})
	d := f.open(t)
	if !d.facts.sharded {
		t.Error("the server was not recognized as sharded")
	}
}

// TestUnreachableServer tests the errors of connect if no MongoDB server answers at the address.
func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	closed := listen(t)
	host := closed.Addr().String()
	closed.Close()
	mute := listen(t)
	serve(t, mute, func(c net.Conn) error { _, err := io.Copy(io.Discard, c); return err })
	hasty := listen(t)
	serve(t, hasty, func(net.Conn) error { return nil })
	web := listen(t)
	serve(t, web, func(c net.Conn) error {
		_, err := io.CopyN(io.Discard, c, 16)
		return errors.Join(err, say(c, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n400 Bad Request"))
	})
	mail := listen(t)
	serve(t, mail, func(c net.Conn) error {
		_, err := io.CopyN(io.Discard, c, 16)
		return errors.Join(err, say(c, "\x05\x00\x00\x00 too short to be a message"))
	})
	for name, tc := range map[string]struct{ at, query, want string }{
		"a closed port":         {host, "", "no MongoDB at HOST: the connection was refused"},
		"no such host":          {"nowhere.invalid:27017", "", "no MongoDB at HOST: the host does not exist"},
		"no answer":             {mute.Addr().String(), "", "no MongoDB at HOST: the host does not answer"},
		"hangs up":              {hasty.Addr().String(), "", "the server at HOST closes the connection: it needs TLS (tls=true in the connection string) or is not a MongoDB"},
		"a web server":          {web.Addr().String(), "", "the server at HOST is not a MongoDB or needs TLS (tls=true in the connection string)"},
		"something else":        {mail.Addr().String(), "", "the server at HOST is not a MongoDB or needs TLS (tls=true in the connection string)"},
		"hangs up on TLS":       {hasty.Addr().String(), "&tls=true", "the server at HOST does not use TLS, which the connection string requires"},
		"a web server over TLS": {web.Addr().String(), "&tls=true", "the server at HOST does not use TLS, which the connection string requires"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := sentence(t, "mongodb://user:s3cret@"+tc.at+"/?"+quick+tc.query, "s3cret").Error()
			want(t, strings.ReplaceAll(tc.want, "HOST", tc.at), got)
		})
	}
	t.Run("two, and neither", func(t *testing.T) {
		t.Parallel()
		got := sentence(t, "mongodb://"+host+",nowhere.invalid:1/?"+quick).Error()
		for _, part := range []string{host + ": the connection was refused", "nowhere.invalid:1: the host does not exist"} {
			if !strings.Contains(got, part) {
				t.Errorf("%q lacks %q", got, part)
			}
		}
	})
}

func say(c net.Conn, s string) error {
	_, err := io.WriteString(c, s)
	return err
}

func TestUnsuitableServer(t *testing.T) {
	t.Parallel()
	refuse := func(code int32, message string, commands ...string) func(string, bson.Raw) bson.D {
		return func(name string, _ bson.Raw) bson.D {
			if !slices.Contains(commands, name) {
				return nil
			}
			return bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: code}, {Key: "errmsg", Value: message}}
		}
	}
	with := func(host func(string) bson.D, key string, v any) func(string) bson.D {
		return func(h string) bson.D { return append(host(h), bson.E{Key: key, Value: v}) }
	}
	alone := func(string) bson.D { return helloAlone() }
	old := func(string) bson.D {
		return bson.D{{Key: "ok", Value: 1}, {Key: "ismaster", Value: true}, {Key: "minWireVersion", Value: int32(0)}, {Key: "maxWireVersion", Value: int32(8)}}
	}
	secondary := func(h string) bson.D {
		return bson.D{{Key: "ok", Value: 1}, {Key: "ismaster", Value: false}, {Key: "isWritablePrimary", Value: false}, {Key: "secondary", Value: true},
			{Key: "setName", Value: "rs0"}, {Key: "hosts", Value: bson.A{h}}, {Key: "me", Value: h},
			{Key: "minWireVersion", Value: int32(0)}, {Key: "maxWireVersion", Value: int32(21)}}
	}
	for name, tc := range map[string]struct {
		user, query string
		hello       func(host string) bson.D
		reply       func(string, bson.Raw) bson.D
		want        string
		refused     bool
	}{
		"too old": {hello: old, want: "the MongoDB at HOST is too old: version 4.4 or later is needed", refused: true},
		"wrong password": {user: "ann:s3cret@", hello: alone, reply: refuse(18, "Authentication failed.", "saslStart"), refused: true,
			want: `the MongoDB at HOST does not accept the user "ann" with this password; the user must exist in the database "admin", unless authSource names another one`},
		"wrong password in a hosted cluster": {user: "ann:s3cret@", query: "&authSource=users", hello: alone, reply: refuse(8000, "bad auth : authentication failed", "saslStart"), refused: true,
			want: `the MongoDB at HOST does not accept the user "ann" with this password; the user must exist in the database "users", unless authSource names another one`},
		"nobody in particular": {hello: alone, reply: refuse(13, "command find requires authentication", "find"), refused: true,
			want: "the MongoDB at HOST needs a user and a password in the connection string"},
		"a version that is a secret": {hello: alone, reply: refuse(13, "command requires authentication", "find", "buildInfo"), refused: true,
			want: "the MongoDB at HOST needs a user and a password in the connection string"},
		"a secondary alone": {query: "&directConnection=true", hello: secondary,
			want: "the MongoDB at HOST is not the primary of its replica set: remove directConnection from the connection string"},
		"no primary": {query: "&serverSelectionTimeoutMS=1500", hello: secondary,
			want: `the replica set "rs0" has no primary that can be reached`},
		"another replica set": {query: "&replicaSet=rs1&serverSelectionTimeoutMS=1500", hello: helloPrimary,
			want: `the replica set "rs1" does not exist at HOST`},
		"no replica set": {query: "&replicaSet=rs1&serverSelectionTimeoutMS=1500", hello: with(alone, "x", 1),
			want: `the replica set "rs1" does not exist at HOST`},
		"something new": {hello: alone, reply: refuse(4711, "out of spare parts", "ping"),
			want: "the MongoDB at HOST cannot be used: out of spare parts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFake(t)
			f.hello, f.reply = tc.hello(f.host), tc.reply
			err := sentence(t, "mongodb://"+tc.user+f.host+"/?"+quick+tc.query, "s3cret")
			want(t, strings.ReplaceAll(tc.want, "HOST", f.host), err.Error())
			want(t, tc.refused, errors.Is(err, errRefused))
		})
	}
}

func TestWrongRights(t *testing.T) {
	a, err := parse("mongodb://ann:s3cret@h:1/shop")
	if err != nil {
		t.Fatal(err)
	}
	want(t, `the MongoDB at h:1 does not let the user "ann" use the database "shop": grant the role readWrite there`,
		a.explain(mongo.CommandError{Code: 13, Message: "not authorized on shop"}, new(failures)).Error())
}

func TestWrongStrings(t *testing.T) {
	const encode = "percent-encode characters such as @ : / ? # % in the user name, the password and other secrets"
	for url, tc := range map[string]struct{ want, secret string }{
		"":                                   {`scheme must be "mongodb" or "mongodb+srv"`, "\x00"},
		"s3cret":                             {`scheme must be "mongodb" or "mongodb+srv"`, "s3cret"},
		"http://u:s3cret@h/":                 {`scheme must be "mongodb" or "mongodb+srv"`, "s3cret"},
		"mongodb://":                         {"must have at least 1 host", "\x00"},
		"mongodb://u:s3@qqq@h/d":             {encode, "s3"},
		"mongodb://u:s3/qqq@h/d":             {encode, "qqq"},
		"mongodb://u:s3:qqq@h/d":             {encode, "qqq"},
		"mongodb://u:s3%zzcret@h/d":          {encode, "%zz"},
		"mongodb://u:s3cret@h:port/d":        {`port must be an integer`, "s3cret"},
		"mongodb://u:s3cret@h?tls=true":      {"must have a / before the query ?", "s3cret"},
		"mongodb://u:s3cret@h/d?tls":         {"invalid option", "s3cret"},
		"mongodb://u:s3cret@h/d?tls=maybe":   {`maybe`, "s3cret"},
		"mongodb://u:s3cret@h/d?appName=%zz": {"%zz", "s3cret"},
		"mongodb://u:s3cret@h/d?tls=1&x=a@b": {"", "s3cret"},
		"mongodb://h/d?tlsCertificateKeyFile=/none&tlsCertificateKeyFilePassword=s3cret":                {"/none", "s3cret"},
		"mongodb://h/d?tlsCertificateKeyFilePassword=s3cret%zz":                                         {encode, "s3cret"},
		"mongodb://h/?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:s3cret&tls=x": {"", "s3cret"},
		"mongodb://h/admin":                       {`the database "admin" is reserved by MongoDB: use another one in the connection string, or none for "mayfly"`, "\x00"},
		"mongodb://h/a%20b":                       {`"a b" cannot be the name of a database`, "\x00"},
		"mongodb://h/a.b":                         {`"a.b" cannot be the name of a database`, "\x00"},
		"mongodb+srv://u:s3cret@nowhere.invalid/": {"no MongoDB at _mongodb._tcp.nowhere.invalid: the host name cannot be resolved", "s3cret"},
	} {
		t.Run(url, func(t *testing.T) {
			got := sentence(t, url, tc.secret).Error()
			if !strings.Contains(got, tc.want) {
				t.Errorf("%q lacks %q", got, tc.want)
			}
			if first, _, _ := strings.Cut(got, ":"); !strings.Contains(first, "connection string") && !strings.Contains(first, "database") && !strings.Contains(first, "MongoDB") {
				t.Errorf("%q does not name its subject", got)
			}
		})
	}
}

func TestDatabaseIn(t *testing.T) {
	for url, name := range map[string]string{
		"mongodb://h":                   "mayfly",
		"mongodb://h/":                  "mayfly",
		"mongodb://h/?tls=true":         "mayfly",
		"mongodb://h:1,i:2/shop":        "shop",
		"mongodb://u:p%2Fq@h/shop?w=1":  "shop",
		"mongodb+srv://h/caf%C3%A9-1_2": "café-1_2",
	} {
		got, err := databaseIn(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
		}
		want(t, name, got)
	}
}

// If the program is cancelled while it connects, that is the error, without a guess at what is
// wrong with the server.
func TestConnectIsCancelled(t *testing.T) {
	t.Parallel()
	l := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	serve(t, l, func(c net.Conn) error {
		cancel()
		_, err := io.Copy(io.Discard, c)
		return err
	})
	_, _, err := connect(ctx, "mongodb://"+l.Addr().String(), nil, slog.New(slog.DiscardHandler))
	if _, guessed := errors.AsType[*connectError](err); guessed || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
