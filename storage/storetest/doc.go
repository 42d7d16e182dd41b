// Package storetest tests stores: Run is the suite that every driver must pass, given a
// function to open its store; RunCrashes kills a process that commits; RunScenarios runs the
// scenarios of the rules on a store; RunFileFaults tests faults of a store's files. ReduceWork
// reduces the work for a slow store. Faulty and Slow are stores that fail or wait on request,
// for tests of their users.
//
// The package depends on the contract of engine.Store and engine.History, and on no driver.
package storetest
