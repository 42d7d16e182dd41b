// Package filter evaluates the filters and actions of rules for messages (§14): SQL filters
// and actions, correlation filters, and an index over many of those. It sees properties
// only, never a body (FILT-11), and does not depend on entities, so that it can be fuzzed
// alone.
//
//	ParseSQL, SQL.Matches                 a predicate in three-valued logic
//	ParseAction, Action.Apply             statements that change a copy
//	ParseCorrelation, Correlation.Matches equalities joined by AND
//	Index                                 finds the matches among many correlation filters
//	Explain                               the same for people, clause by clause
//
// Parsed filters are immutable and may be used by many goroutines at once. An Index is like
// a map: one goroutine changes it, and none reads meanwhile.
//
// # How SQL computes
//
// Where the specification leaves room, the package does the following.
//
// Evaluation goes from left to right and stops when the rest cannot change the
// result: FALSE AND x and TRUE OR x do not look at x, whether it would fail or
// not, and IN stops at the first element that is equal. Everything else looks at
// all its operands, and one that fails makes the whole fail.
//
// Integers of all widths are numbers, and computed exactly: what C# would wrap
// grows to long or ulong, and beyond these the evaluation fails. Division cuts
// towards zero; by zero it fails. A float and an integer or float compute as
// floats, all else with a fraction as doubles, for which 1.0 / 0 is infinity and
// NaN equals nothing. Decimals count as the nearest double, except that
// dividing by zero fails unless a float or double takes part.
//
// Strings, symbols, URIs and chars are all text, ordered by code points. Text
// that + would make longer than 64 KiB fails. Timestamps and datetime-offsets
// compare to 100 ns; besides date - date and date ± timespan there are timespan ± timespan and
// -timespan. UUIDs, binaries and values of unknown types equal only the same value of their
// own type and have no order; booleans have no order either.
//
// LIKE of anything but text is unknown; a pattern that is not text, an escape
// that is not one character, and an escape at the end of the pattern fail, or
// are refused where they are constants. A property as a condition must be a
// boolean, else the evaluation fails.
package filter
