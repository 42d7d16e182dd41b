// Package storetest is what every store must pass: one suite, Run, that a
// driver's tests call with a way to open it, and Crash, which kills a process
// that commits. It also has stores that fail or dawdle on demand, Faulty and
// Slow, for tests of what stands on a store.
//
// It knows the contract of engine.Store and nothing of a driver.
package storetest
