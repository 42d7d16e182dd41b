// Package filter evaluates the filters and actions of rules for messages (§14): SQL filters
// and actions, correlation filters, and an index over many of those. It sees properties
// only, never a body (FILT-11), and does not depend on entities, so that it can be fuzzed
// alone.
//
//	ParseSQL, SQL.Matches                 a predicate in three-valued logic
//	ParseAction, Action.Apply             statements that change a copy
//	ParseCorrelation, Correlation.Matches equalities joined by AND
//	Index                                 finds the matches among many correlation filters
//	Explain                               explains the result of a filter, clause by clause
//
// Parsed filters are immutable and may be used by many goroutines at once. An Index is like
// a map: while one goroutine changes it, no other may use it.
//
// # How SQL computes
//
// Where the specification leaves room, the package does the following.
//
// Evaluation goes from left to right and stops when the rest cannot change the
// result: FALSE AND x and TRUE OR x do not evaluate x, even if it would fail, and
// IN stops at the first element that is equal. All other operators evaluate all
// their operands, and fail if one of them fails.
//
// Integers of all widths are computed exactly: a result that would wrap in C#
// becomes a long or ulong, and if it does not fit into these, the evaluation
// fails. Division truncates towards zero; division by zero fails. A float and an
// integer or float are computed as floats, all other operands with a fraction as
// doubles, for which 1.0 / 0 is infinity and NaN equals nothing. Decimals are
// converted to the nearest double, except that division by zero fails unless a
// float or double takes part.
//
// Strings, symbols, URIs and chars are all text, ordered by code points. A + whose
// result would be longer than 64 KiB fails. Timestamps and datetime-offsets are
// compared to 100 ns. Besides date - date and date ± timespan there are timespan ±
// timespan and -timespan. UUIDs, binaries and values of unknown types equal only the
// same value of their own type and have no order; booleans have no order either.
//
// LIKE of anything but text is unknown. A pattern that is not text, an escape
// that is not one character, and an escape at the end of the pattern fail; if
// they are constants, the parser returns an error. A property as a condition must
// be a boolean, else the evaluation fails.
package filter
