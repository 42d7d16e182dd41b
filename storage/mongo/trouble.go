package mongo

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"mayfly/engine"
)

// A troubleError is why there is no connection: a sentence for the operator,
// over what the driver said.
type troubleError struct {
	sentence string
	cause    error // nil: there is none
}

func (e *troubleError) Error() string { return e.sentence }

func (e *troubleError) Unwrap() error { return e.cause }

func trouble(sentence string, cause error) error { return &troubleError{sentence, cause} }

// explain says in one sentence why the server could not be reached or used.
func (a address) explain(err error) error {
	at := strings.Join(a.options.Hosts, ",")
	switch selection, ok := errors.AsType[topology.ServerSelectionError](err); {
	case ok:
		return trouble(a.redact(a.unselected(selection)), unreached(selection))
	case strings.Contains(err.Error(), "wire version"), commandUnknown(err):
		return trouble(fmt.Sprintf("the MongoDB at %s is too old: it has to be %s or later", at, topology.MinSupportedMongoDBVersion), fmt.Errorf("%w: %w", errRefused, err))
	case unauthenticated(err):
		return trouble(fmt.Sprintf("the MongoDB at %s does not accept the user %q with this password; users are looked up in the database %q, unless authSource names another one",
			at, a.user(), a.source()), told(err))
	case unauthorized(err) && a.user() == "":
		return trouble(fmt.Sprintf("the MongoDB at %s lets in known users only, and the connection string names none", at), told(err))
	case unauthorized(err):
		return trouble(fmt.Sprintf("the MongoDB at %s does not let the user %q use the database %q: the role readWrite is needed there", at, a.user(), a.database), told(err))
	case errors.Is(err, errSecondary):
		return trouble(fmt.Sprintf("the MongoDB at %s is not the primary of its replica set: take directConnection out of the connection string", at), err)
	}
	if said := a.oneServer(at, err); said != "" {
		return trouble(a.redact(said), err)
	}
	return trouble(a.redact(fmt.Sprintf("the MongoDB at %s cannot be used: %v", at, err)), err)
}

func commandUnknown(err error) bool {
	e, ok := errors.AsType[mongo.ServerError](err)
	return ok && e.HasErrorCode(59)
}

// unreached is err, and engine.ErrUnreachable unless a server is there that does
// not want TLS as it is configured: to wait for that one is of no use.
func unreached(err topology.ServerSelectionError) error {
	for _, s := range err.Desc.Servers {
		_, plain := errors.AsType[tls.RecordHeaderError](s.LastError)
		if plain || s.LastError != nil && (certificate("", s.LastError) != "" || strings.Contains(s.LastError.Error(), "remote error: tls:")) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", engine.ErrUnreachable, err)
}

// unselected says why none of the servers was good enough.
func (a address) unselected(err topology.ServerSelectionError) string {
	var all []string
	set := false
	for _, s := range err.Desc.Servers {
		set = set || s.SetName != ""
		at := s.Addr.String()
		said := ""
		switch {
		case s.LastError != nil:
			said = a.oneServer(at, s.LastError)
			if said == "" {
				said = fmt.Sprintf("the MongoDB at %s cannot be used: %v", at, s.LastError)
			}
		case s.Kind == 0:
			said = fmt.Sprintf("no MongoDB at %s: it does not answer", at)
		}
		if said != "" && !slices.Contains(all, said) {
			all = append(all, said)
		}
	}
	switch {
	case set:
		all = slices.Insert(all, 0, fmt.Sprintf("the replica set %q has no primary that can be reached", err.Desc.SetName))
	case len(all) == 0 && a.options.ReplicaSet != nil:
		return fmt.Sprintf("there is no replica set %q at %s", *a.options.ReplicaSet, strings.Join(a.options.Hosts, ","))
	case len(all) == 0:
		return fmt.Sprintf("no MongoDB at %s: %v", strings.Join(a.options.Hosts, ","), err.Wrapped)
	}
	return strings.Join(all, "; ")
}

// oneServer says what an error in reaching one server means; empty if it is
// none of those that are known.
func (a address) oneServer(at string, err error) string {
	if said := certificate(at, err); said != "" {
		return said
	}
	withTLS := a.options.TLSConfig != nil
	dns, named := errors.AsType[*net.DNSError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	timeout, timed := errors.AsType[net.Error](err)
	switch {
	case named && dns.IsNotFound:
		return fmt.Sprintf("no MongoDB at %s: there is no host of that name", at)
	case named:
		return fmt.Sprintf("no MongoDB at %s: its name cannot be looked up: %v", at, dns)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("no MongoDB at %s: nobody listens there", at)
	case plain, withTLS && hungUp(err):
		return fmt.Sprintf("what listens at %s does not speak TLS, which the connection string asks for", at)
	case withTLS && strings.Contains(err.Error(), "remote error: tls:"):
		return fmt.Sprintf("the server at %s refuses the TLS connection; it may want a client certificate (tlsCertificateKeyFile): %v", at, innermost(err))
	case hungUp(err):
		return fmt.Sprintf("the server at %s hangs up: it wants TLS (tls=true in the connection string), or is no MongoDB", at)
	case strings.Contains(err.Error(), "malformed"), strings.Contains(err.Error(), "message length"), strings.Contains(err.Error(), "message too large"):
		return fmt.Sprintf("what answers at %s is no MongoDB, or wants TLS (tls=true in the connection string)", at)
	case timed && timeout.Timeout():
		return fmt.Sprintf("no MongoDB at %s: it does not answer", at)
	}
	return ""
}

// certificate says what is wrong with a server's; empty if nothing is.
func certificate(at string, err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Sprintf("the certificate of %s is signed by nobody known here: name the file of its authority with tlsCAFile", at)
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the certificate of %s is not for that name: %v", at, e)
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Sprintf("the certificate of %s is not good: %v", at, e.Err)
	}
	return ""
}

func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

func (a address) user() string {
	if a.options.Auth == nil {
		return ""
	}
	return a.options.Auth.Username
}

// source is the database that users are looked up in.
func (a address) source() string {
	if a.options.Auth == nil || a.options.Auth.AuthSource == "" {
		return "admin"
	}
	return a.options.Auth.AuthSource
}

// redact takes the password out of what others wrote.
func (a address) redact(text string) string {
	if a.options.Auth == nil || a.options.Auth.Password == "" {
		return text
	}
	return strings.NewReplacer(a.options.Auth.Password, hidden, url.QueryEscape(a.options.Auth.Password), hidden).Replace(text)
}

// hidden stands where a secret was.
const hidden = "xxxxx"

// wrongString says what is wrong with a connection string that the driver does
// not read. What the driver says may quote any part of it, the password too. So
// a string without secrets is read instead: if that can be, they are what is
// wrong.
func wrongString(text string, err error) error {
	const wrong = "the connection string for MongoDB is wrong: "
	clean, had := withoutSecrets(text)
	if had {
		if err = options.Client().ApplyURI(clean).Validate(); err == nil {
			return trouble(wrong+"characters such as @ : / ? # % in the user's name, the password or another secret have to be percent-encoded", nil)
		}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return trouble(fmt.Sprintf("no MongoDB at %s: its name cannot be looked up: %v", dns.Name, dns), err)
	}
	return trouble(wrong+strings.TrimPrefix(err.Error(), "error parsing uri: "), err)
}

// withoutSecrets puts something else for what nobody else should read.
func withoutSecrets(text string) (clean string, had bool) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return "", true // it may be anything
	}
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		rest, had = "user:"+hidden+rest[i:], true
	}
	before, query, _ := strings.Cut(rest, "?")
	if query == "" {
		return scheme + "://" + before, had
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		key, _, _ := strings.Cut(pair, "=")
		switch strings.ToLower(key) {
		case "authmechanismproperties":
			pairs[i], had = key+"=hidden:"+hidden, true
		case "tlscertificatekeyfilepassword", "sslclientcertificatekeypassword":
			pairs[i], had = key+"="+hidden, true
		}
	}
	return scheme + "://" + before + "?" + strings.Join(pairs, "&"), had
}
