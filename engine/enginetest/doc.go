// Package enginetest tests the rules of package engine from outside.
//
//	generator.go        records with random values in every field, for tests of stores and codecs
//	scenario.go         scenarios in engine/testdata, as text: commands and their results;
//	                    an Executor runs them
//	engine*.go          an Executor that runs the engine alone, without a broker
//	comparison.go       an Executor that runs each step at an Engine and through a protocol
//	operator.go         runs commands that are not clients' at a protocol's broker
//	model*_test.go      a second implementation of the rules, without the engine
//	walk_test.go        random steps through engine and model side by side
//	turn_test.go        sweeping, commits, rollbacks and restarts among the steps
//	random_test.go      the test, its seeds, and a report of which operation met which state
//
// A walk that fails prints its seed and a minimal list of steps that still fail. Repeat it
// with -walk.seed=N -walk.count=1; run a thousand with -walk.count=1000 (or
// MAYFLY_WALK_SEED and MAYFLY_WALKS).
package enginetest
