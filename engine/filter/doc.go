// Package filter judges messages for rules (§14): SQL filters and actions,
// correlation filters, and an index over many of those. It sees properties
// only, never a body (FILT-11), and knows nothing of entities, so that it can
// be fuzzed alone.
//
//	ParseSQL, SQL.Matches                 a predicate in three-valued logic
//	ParseAction, Action.Apply             statements that change a copy
//	ParseCorrelation, Correlation.Matches equalities joined by AND
//	Index                                 who of many correlation filters matches
//	Explain                               the same for people, clause by clause
//
// What is parsed is immutable and may be used by many goroutines at once. An
// Index is a map: one goroutine changes it, and none reads meanwhile.
//
// # How SQL computes
//
// Where the specification leaves room, this is what the package does.
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
// NaN equals nothing. Decimals count as the double next to them, except that
// dividing by zero fails unless a float or double takes part.
//
// Strings, symbols, URIs and chars are all text, ordered by code points. Text
// that + would make longer than 64 KiB fails. Timestamps and datetime-offsets
// compare to 100 ns; besides date - date and date ± timespan there are timespan
// ± timespan and -timespan. UUIDs, binaries and what is not known better are
// equal to the same of their own type and have no order, nor have booleans.
//
// LIKE of what is not text is unknown; a pattern that is not text, an escape
// that is not one character, and an escape at the end of the pattern fail, or
// are refused where they are constants. A property as a condition must be a
// boolean, else the evaluation fails.
package filter
