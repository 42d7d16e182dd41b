// Package recent keeps some recent events of a broker in memory, and what pages need to know
// about them: rates, depths, removed messages, deleted entities and messages that no subscription
// took. Older events come from the store's history, if it has one, so that pages show the same
// after a restart.
package recent
