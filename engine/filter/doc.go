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
package filter
