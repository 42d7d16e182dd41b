package atom

import (
	"errors"
	"net/http"
	"testing"

	"mayfly/engine"
)

// ERR-4: each kind of error has its own status and sub-code, by which clients distinguish errors.
func TestStatus(t *testing.T) {
	for kind, want := range map[error][2]int{
		engine.ErrNotFound: {404, 40400}, engine.ErrExists: {409, 40900}, engine.ErrChanged: {409, 40901}, engine.ErrQuota: {403, 40300}, engine.ErrTooLarge: {403, 40300},
		engine.ErrNotAllowed: {403, 40301}, engine.ErrDisabled: {400, 40000}, engine.ErrArgument: {400, 40000}, engine.ErrOutOfRange: {400, 40000},
		engine.ErrNotImplemented: {501, 0}, engine.ErrBusy: {503, 50004}, engine.ErrClosed: {503, 50004}, errors.New("surprise"): {500, 50000},
		&methodError{http.MethodPatch, listActions}: {405, 0}, &engine.Refusal{Kind: engine.ErrQuota, SubCode: 40503}: {403, 40503},
		&engine.PropertyError{Kind: engine.ErrArgument, SubCode: 40401}: {400, 40401},
	} {
		if code, sub := status(kind); code != want[0] || sub != want[1] {
			t.Errorf("%v is %d %d, want %v", kind, code, sub, want)
		}
	}
}
