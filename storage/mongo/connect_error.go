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

// A connectError explains why there is no connection: a sentence for the operator, wrapping
// the driver's error.
type connectError struct {
	message string
	cause   error // nil if there is none
}

func (e *connectError) Error() string { return e.message }

func (e *connectError) Unwrap() error { return e.cause }

func newConnectError(sentence string, cause error) error { return &connectError{sentence, cause} }

// explain returns an error that says in one sentence why the server could not be reached or
// used. The errors of earlier checks are in known.
func (a connString) explain(err error, known *failures) error {
	at := strings.Join(a.options.Hosts, ",")
	switch selection, ok := errors.AsType[topology.ServerSelectionError](err); {
	case ok:
		selection.Desc.Servers = slices.Clone(selection.Desc.Servers)
		for i, s := range selection.Desc.Servers {
			selection.Desc.Servers[i].LastError = known.cause(s.Addr.String(), s.LastError)
		}
		return newConnectError(a.redact(a.explainSelection(selection)), unreached(selection))
	case strings.Contains(err.Error(), "wire version"), commandUnknown(err):
		return newConnectError(fmt.Sprintf("the MongoDB at %s is too old: version %s or later is needed", at, topology.MinSupportedMongoDBVersion), fmt.Errorf("%w: %w", errRefused, err))
	case unauthenticated(err):
		return newConnectError(fmt.Sprintf("the MongoDB at %s does not accept the user %q with this password; the user must exist in the database %q, unless authSource names another one",
			at, a.user(), a.source()), classifyError(err))
	case unauthorized(err) && a.user() == "":
		return newConnectError(fmt.Sprintf("the MongoDB at %s needs a user and a password in the connection string", at), classifyError(err))
	case unauthorized(err):
		return newConnectError(fmt.Sprintf("the MongoDB at %s does not let the user %q use the database %q: grant the role readWrite there", at, a.user(), a.database), classifyError(err))
	case errors.Is(err, errSecondary):
		return newConnectError(fmt.Sprintf("the MongoDB at %s is not the primary of its replica set: remove directConnection from the connection string", at), err)
	}
	if explained := a.explainServer(at, err); explained != "" {
		return newConnectError(a.redact(explained), err)
	}
	return newConnectError(a.redact(fmt.Sprintf("the MongoDB at %s cannot be used: %v", at, err)), err)
}

func commandUnknown(err error) bool {
	e, ok := errors.AsType[mongo.ServerError](err)
	return ok && e.HasErrorCode(59)
}

// unreached wraps err in engine.ErrUnreachable, unless a server was reached that rejects TLS
// as it is configured: waiting for that server is of no use.
func unreached(err topology.ServerSelectionError) error {
	for _, s := range err.Desc.Servers {
		_, plain := errors.AsType[tls.RecordHeaderError](s.LastError)
		if plain || s.LastError != nil && (explainCertificate("", s.LastError) != "" || strings.Contains(s.LastError.Error(), "remote error: tls:")) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", engine.ErrUnreachable, err)
}

// explainSelection explains why the driver could select none of the servers.
func (a connString) explainSelection(err topology.ServerSelectionError) string {
	var all []string
	set := false
	for _, s := range err.Desc.Servers {
		set = set || s.SetName != ""
		at := s.Addr.String()
		explained := ""
		switch {
		case s.LastError != nil:
			explained = a.explainServer(at, s.LastError)
			if explained == "" {
				explained = fmt.Sprintf("the MongoDB at %s cannot be used: %v", at, s.LastError)
			}
		case s.Kind == 0:
			explained = fmt.Sprintf("no MongoDB at %s: the host does not answer", at)
		}
		if explained != "" && !slices.Contains(all, explained) {
			all = append(all, explained)
		}
	}
	switch {
	case set:
		all = slices.Insert(all, 0, fmt.Sprintf("the replica set %q has no primary that can be reached", err.Desc.SetName))
	case len(all) == 0 && a.options.ReplicaSet != nil:
		return fmt.Sprintf("the replica set %q does not exist at %s", *a.options.ReplicaSet, strings.Join(a.options.Hosts, ","))
	case len(all) == 0:
		return fmt.Sprintf("no MongoDB at %s: %v", strings.Join(a.options.Hosts, ","), err.Wrapped)
	}
	return strings.Join(all, "; ")
}

// explainServer explains an error in reaching one server. It returns "" if the error is not a
// common one.
func (a connString) explainServer(at string, err error) string {
	if explained := explainCertificate(at, err); explained != "" {
		return explained
	}
	withTLS := a.options.TLSConfig != nil
	dns, named := errors.AsType[*net.DNSError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	timeout, timed := errors.AsType[net.Error](err)
	switch {
	case named && dns.IsNotFound:
		return fmt.Sprintf("no MongoDB at %s: the host does not exist", at)
	case named:
		return fmt.Sprintf("no MongoDB at %s: the host name cannot be resolved: %v", at, dns)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("no MongoDB at %s: the connection was refused", at)
	case plain, withTLS && hungUp(err):
		return fmt.Sprintf("the server at %s does not use TLS, which the connection string requires", at)
	case withTLS && strings.Contains(err.Error(), "remote error: tls:"):
		return fmt.Sprintf("the server at %s refuses the TLS connection; it may need a client certificate (tlsCertificateKeyFile): %v", at, innermost(err))
	case hungUp(err):
		return fmt.Sprintf("the server at %s closes the connection: it needs TLS (tls=true in the connection string) or is not a MongoDB", at)
	case strings.Contains(err.Error(), "malformed"), strings.Contains(err.Error(), "message length"), strings.Contains(err.Error(), "message too large"):
		return fmt.Sprintf("the server at %s is not a MongoDB or needs TLS (tls=true in the connection string)", at)
	case timed && timeout.Timeout():
		return fmt.Sprintf("no MongoDB at %s: the host does not answer", at)
	}
	return ""
}

// explainCertificate explains what is wrong with a server's certificate. It returns "" if the
// error is about something else.
func explainCertificate(at string, err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Sprintf("the certificate of %s is signed by an unknown authority: set tlsCAFile to the certificate of the authority", at)
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the certificate of %s is for another name: %v", at, e)
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Sprintf("the certificate of %s is not valid: %v", at, e.Err)
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

func (a connString) user() string {
	if a.options.Auth == nil {
		return ""
	}
	return a.options.Auth.Username
}

// source returns the database in which the user is defined.
func (a connString) source() string {
	if a.options.Auth == nil || a.options.Auth.AuthSource == "" {
		return "admin"
	}
	return a.options.Auth.AuthSource
}

// redact removes the password from text.
func (a connString) redact(text string) string {
	if a.options.Auth == nil || a.options.Auth.Password == "" {
		return text
	}
	return strings.NewReplacer(a.options.Auth.Password, hidden, url.QueryEscape(a.options.Auth.Password), hidden).Replace(text)
}

// hidden is shown in place of a secret.
const hidden = "xxxxx"

// explainConnectionString explains what is wrong with a connection string that the driver
// cannot parse. The driver's error may quote any part of it, even the password. So the string
// is parsed again without secrets: if that succeeds, the secrets are wrong.
func explainConnectionString(text string, err error) error {
	const wrong = "the connection string for MongoDB is invalid: "
	clean, had := withoutSecrets(text)
	if had {
		if err = options.Client().ApplyURI(clean).Validate(); err == nil {
			return newConnectError(wrong+"percent-encode characters such as @ : / ? # % in the user name, the password and other secrets", nil)
		}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return newConnectError(fmt.Sprintf("no MongoDB at %s: the host name cannot be resolved: %v", dns.Name, dns), err)
	}
	return newConnectError(wrong+strings.TrimPrefix(err.Error(), "error parsing uri: "), err)
}

// withoutSecrets returns a connection string with everything replaced that may be secret, and
// reports whether it replaced anything. It returns "" if the string has no scheme.
func withoutSecrets(text string) (clean string, had bool) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return "", true // all of it may be secret
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
