package errorcodes

import (
	"errors"
	"slices"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

// AMQP returns the condition of an error, and the status of a response of $management.
// [wire.CondInternalError] means a failure of the server.
func AMQP(err error) (wire.Condition, int32) {
	a := find(err, func(r *row) amqp { return r.amqp })
	return a.condition, a.status
}

// REST returns the HTTP status of an error in the API for messages, and its sub-code, zero if
// it has none.
func REST(err error) (status, subCode int) {
	return find(err, func(r *row) rest { return r.rest }).of(err)
}

// Atom is like REST for the API for entities.
func Atom(err error) (status, subCode int) {
	return rest(find(err, func(r *row) atom { return r.atom })).of(err)
}

// API returns the HTTP status of an error in the JSON API, and its code.
func API(err error) (status int, code string) {
	a := find(err, func(r *row) api { return r.api })
	return a.status, a.code
}

// APIStatuses returns the HTTP statuses that errors with a code of the JSON API can have, or nil
// for an unknown code.
func APIStatuses(code string) (all []int) {
	for _, r := range append(table[:], failure) {
		if r.api != (api{}) && r.api.code == code && !slices.Contains(all, r.api.status) {
			all = append(all, r.api.status)
		}
	}
	return all
}

// Page returns the HTTP status of the page that shows an error.
func Page(err error) int {
	return find(err, func(r *row) page { return r.page }).status
}

// SubCode returns the sub-code of ERR-3 of the error itself, or zero.
func SubCode(err error) int {
	if p, ok := errors.AsType[*engine.PropertyError](err); ok {
		return p.SubCode
	}
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		return r.SubCode
	}
	return 0
}

// of returns the status of an answer, and the sub-code: the error's own, if it has one. A failure
// of the server always has the same sub-code.
func (a rest) of(err error) (status, subCode int) {
	if own := SubCode(err); own != 0 && a != failure.rest {
		return a.status, own
	}
	return a.status, a.subCode
}

// find returns the cell of a column in the first row that matches the error and whose cell is not
// empty, or the cell of `failure` if there is no such row.
func find[A comparable](err error, column func(*row) A) A {
	var empty A
	for i := range table {
		if a := column(&table[i]); a != empty && errors.Is(err, table[i].kind) {
			return a
		}
	}
	return column(&failure)
}
