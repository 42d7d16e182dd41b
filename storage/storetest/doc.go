// Package storetest is what every store must pass: one suite, Run, that a
// driver's tests call with a way to open it; Crash, which kills a process that
// commits; and Scenarios, the stories of the rules told on the store. For a slow
// one there is Smaller. It also has stores that fail or dawdle on demand, Faulty and
// Slow, for tests of what stands on a store.
//
// It knows the contract of engine.Store and engine.History, and nothing of a
// driver.
package storetest
