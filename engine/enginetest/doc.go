// Package enginetest tests the rules of package engine through its exported functions.
//
//	generator.go        records with random values in every field, for tests of stores
//	scenario.go         scenarios in engine/testdata, as text: commands and their results;
//	                    an Executor runs them
//	engine*.go          the Executor that uses the engine alone, without a broker
//	comparison.go       an Executor that compares an Engine with a protocol in each step
//	operator.go         runs the commands of operators at a protocol's broker
//	model*_test.go      a second implementation of the rules, as a model
//	walk_test.go        random steps through engine and model side by side
//	turn_test.go        sweeping, commits, rollbacks and restarts among the steps
//	random_test.go      the test, its seeds, and its coverage of operations and states
//
// A walk that fails prints its seed and a minimal list of steps that still fail. Repeat it
// with -walk.seed=N -walk.count=1; run a thousand with -walk.count=1000 (or
// MAYFLY_WALK_SEED and MAYFLY_WALKS).
package enginetest
