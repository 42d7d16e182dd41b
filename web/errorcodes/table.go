package errorcodes

import (
	"context"
	"errors"
	"io"
	"os"

	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/engine/demo"
	"mayfly/engine/job"
	"mayfly/engine/namespaces"
	"mayfly/engine/search/columns"
	"mayfly/engine/template"
	"mayfly/web/amqp/wire"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/auth/token"
	"mayfly/web/connections"
)

// Kinds of errors that only an API can find. They are declared here because the table names
// them.
var (
	ErrPageNotFound = errors.New("there is no such page")
	ErrKeyReused    = errors.New("idempotency key reused")
	ErrMediaType    = errors.New("media type not supported")
)

// A row has the answers to a kind of error, one for each API. It is written without field
// names, so that the compiler finds a missing cell.
type row struct {
	kind error
	amqp amqp
	rest rest
	atom atom
	api  api
	page page
}

// The answers of the APIs. A zero value is an empty cell.
type (
	amqp struct {
		condition wire.Condition
		status    int32 // of a response of $management
	}
	rest struct {
		status  int
		subCode int // of ERR-3, for an error without one of its own; zero means none
	}
	atom rest
	api  struct {
		status int
		code   string
	}
	page struct{ status int }
)

// table lists the kinds of errors. The first row that an error matches and whose cell is not
// empty is used.
var table = [...]row{ //nolint:gochecknoglobals // never changed
	// The transaction must not be retried, whatever the cause in the error. Atom has no
	// transactions, so that cell is empty.
	{engine.ErrRolledBack, amqp{wire.CondTransactionRollback, 400}, rest{400, 40000}, atom{}, api{409, "TransactionRolledBack"}, page{409}},

	// Kinds that are also of a more general kind, whose row is below.
	{engine.ErrNoAccessRule, amqp{}, rest{}, atom{}, api{404, "AccessRuleNotFound"}, page{}},
	{job.ErrNoJob, amqp{}, rest{}, atom{}, api{404, "JobNotFound"}, page{}},
	{alert.ErrNoRule, amqp{}, rest{}, atom{}, api{404, "AlertRuleNotFound"}, page{}},
	{columns.ErrNoView, amqp{}, rest{}, atom{}, api{404, "ViewNotFound"}, page{}},
	{columns.ErrViewExists, amqp{}, rest{}, atom{}, api{409, "ViewAlreadyExists"}, page{}},
	{template.ErrNoTemplate, amqp{}, rest{}, atom{}, api{404, "TemplateNotFound"}, page{}},
	{token.ErrNotFound, amqp{}, rest{}, atom{}, api{404, "TokenNotFound"}, page{}},
	{namespaces.ErrNoNamespace, amqp{}, rest{}, atom{}, api{404, "NamespaceNotFound"}, page{}},
	{namespaces.ErrNamespaceExists, amqp{}, rest{}, atom{}, api{409, "NamespaceAlreadyExists"}, page{}},
	{demo.ErrNoScene, amqp{}, rest{}, atom{}, api{404, "SceneNotFound"}, page{}},
	{demo.ErrNotPlaying, amqp{}, rest{}, atom{}, api{404, "PlaybackNotFound"}, page{}},
	{demo.ErrSceneExists, amqp{}, rest{}, atom{}, api{409, "SceneAlreadyExists"}, page{}},
	{engine.ErrDuplicate, amqp{}, rest{}, atom{}, api{}, page{}},
	{engine.ErrMemoryFull, amqp{}, rest{}, atom{}, api{}, page{}},

	// The error kinds of §16 of the semantics. Atom has no messages and no sessions, so those cells
	// are empty.
	{engine.ErrNotFound, amqp{wire.CondNotFound, 404}, rest{410, 40400}, atom{404, 40400}, api{404, "MessagingEntityNotFound"}, page{404}},
	{engine.ErrMessageNotFound, amqp{CondMessageNotFound, 404}, rest{404, 0}, atom{}, api{404, "MessageNotFound"}, page{404}},
	{engine.ErrExists, amqp{CondEntityExists, 409}, rest{409, 40900}, atom{409, 40900}, api{409, "MessagingEntityAlreadyExists"}, page{409}},
	{engine.ErrChanged, amqp{wire.CondPreconditionFailed, 409}, rest{409, 40900}, atom{409, 40901}, api{409, "Changed"}, page{409}},
	{engine.ErrDisabled, amqp{CondEntityDisabled, 400}, rest{403, 0}, atom{400, 40000}, api{403, "MessagingEntityDisabled"}, page{409}},
	{engine.ErrLockLost, amqp{CondMessageLockLost, 410}, rest{404, 0}, atom{}, api{410, "MessageLockLost"}, page{410}},
	{engine.ErrSessionLockLost, amqp{CondSessionLockLost, 410}, rest{410, 0}, atom{}, api{410, "SessionLockLost"}, page{410}},
	{engine.ErrSessionLocked, amqp{CondSessionCannotBeLocked, 410}, rest{410, 0}, atom{}, api{410, "SessionCannotBeLocked"}, page{409}},
	{engine.ErrTimeout, amqp{CondTimeout, 408}, rest{408, 0}, atom{}, api{408, "ServiceTimeout"}, page{408}},
	{engine.ErrTransaction, amqp{wire.CondTransactionUnknownID, 400}, rest{400, 40000}, atom{}, api{410, "TransactionOver"}, page{410}},
	{engine.ErrTooLarge, amqp{wire.CondMessageSizeExceeded, 403}, rest{403, 40300}, atom{403, 40300}, api{413, "MessageSizeExceeded"}, page{413}},
	{engine.ErrQuota, amqp{wire.CondResourceLimitExceeded, 403}, rest{403, 40300}, atom{403, 40300}, api{403, "QuotaExceeded"}, page{409}},
	{engine.ErrNotAllowed, amqp{wire.CondNotAllowed, 400}, rest{400, 40301}, atom{403, 40301}, api{400, "InvalidOperation"}, page{409}},
	{engine.ErrOutOfRange, amqp{CondOutOfRange, 400}, rest{400, 40000}, atom{400, 40000}, api{400, "ArgumentOutOfRange"}, page{422}},
	{engine.ErrArgument, amqp{CondArgument, 400}, rest{400, 40000}, atom{400, 40000}, api{400, "Argument"}, page{422}},
	{engine.ErrNotImplemented, amqp{wire.CondNotImplemented, 501}, rest{501, 0}, atom{501, 0}, api{501, "NotSupported"}, page{501}},
	{engine.ErrBusy, amqp{CondServerBusy, 503}, rest{503, 50004}, atom{503, 50004}, api{503, "ServiceBusy"}, page{503}},
	{engine.ErrClosed, amqp{CondServerBusy, 503}, rest{503, 50004}, atom{503, 50004}, api{503, "OperationCancelled"}, page{503}}, // an AMQP client that tries again finds the new owner

	// The store's kinds, whatever error of the network or the disk they wrap: failures of the
	// server, unless the error is an ErrBusy or ErrClosed too.
	{engine.ErrFenced, failure.amqp, failure.rest, failure.atom, failure.api, failure.page},
	{engine.ErrUnwritable, failure.amqp, failure.rest, failure.atom, failure.api, failure.page},
	{engine.ErrDamaged, failure.amqp, failure.rest, failure.atom, failure.api, failure.page},
	{engine.ErrUnreachable, failure.amqp, failure.rest, failure.atom, failure.api, failure.page},
	{engine.ErrRestoreIncomplete, failure.amqp, failure.rest, failure.atom, failure.api, failure.page},

	// Kinds that the APIs find before the broker is asked.
	{origin.ErrForm, amqp{}, rest{}, atom{}, api{}, page{403}},
	{origin.ErrCrossSite, amqp{}, rest{403, 40300}, atom{}, api{403, "CrossSite"}, page{403}},
	{origin.ErrSafeMode, amqp{}, rest{}, atom{}, api{403, "SafeMode"}, page{403}},
	{auth.ErrUnauthenticated, amqp{}, rest{}, atom{}, api{401, "Unauthorized"}, page{401}},
	{auth.ErrSignedOut, amqp{}, rest{}, atom{}, api{401, "Unauthorized"}, page{401}},
	{connections.ErrClosed, amqp{}, rest{}, atom{}, api{404, "ConnectionNotFound"}, page{}},
	{ErrPageNotFound, amqp{}, rest{}, atom{}, api{}, page{404}},
	{ErrKeyReused, amqp{}, rest{}, atom{}, api{422, "IdempotencyKeyReused"}, page{}},
	{ErrMediaType, amqp{}, rest{}, atom{}, api{415, "UnsupportedMediaType"}, page{}},

	// Errors of reading a request's body.
	{io.ErrUnexpectedEOF, amqp{}, rest{400, 40000}, atom{400, 40000}, api{400, "Argument"}, page{}}, // a body that ends early is a wrong one

	// Timeouts and cancelled requests. Usually the client of a cancelled request has disconnected.
	{os.ErrDeadlineExceeded, amqp{}, rest{408, 0}, atom{408, 0}, api{408, "ServiceTimeout"}, page{}},
	{context.DeadlineExceeded, amqp{CondTimeout, 408}, rest{408, 0}, atom{408, 0}, api{}, page{503}},
	{context.Canceled, amqp{CondCancelled, 503}, rest{408, 0}, atom{408, 0}, api{408, "OperationCancelled"}, page{503}},
}

// failure has the answers to an error that no row answers: a failure of the server.
var failure = row{nil, amqp{wire.CondInternalError, 500}, rest{500, 50000}, atom{500, 50000}, api{500, "InternalError"}, page{500}} //nolint:gochecknoglobals // never changed
